from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.support import SessionCluster


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCluster]:
    """A cluster that tests share: they hand in jobs, and leave it alone."""
    found = SessionCluster(tmp_path_factory.mktemp("session")).start()
    yield found
    found.stop()
