from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rest.jobs import Jobs, recorded_jobs


@pytest.fixture(scope="package")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    """Jobs that ended in different ways, and one that runs; tests only read of them."""
    with recorded_jobs(tmp_path_factory.mktemp("history")) as found:
        yield found
