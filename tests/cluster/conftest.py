from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.support import SessionCluster
from tests.spark.standalone import StandaloneSpark, standalone_spark


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCluster]:
    """A cluster that tests share: they hand in jobs, and leave it alone."""
    found = SessionCluster(tmp_path_factory.mktemp("session")).start()
    yield found
    found.stop()


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneSpark]:
    """A Spark that tests share: what they start there, they end."""
    with standalone_spark(tmp_path_factory.mktemp("standalone"), cores=4, memory="3g") as found:
        yield found
