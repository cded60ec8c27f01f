"""One server for all tests of the package: each test takes streams and queues of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.aws.support import Aws
from tests.servers.fixtures import platform
from tests.servers.s3.server import running

__all__ = ["aws", "platform"]


@pytest.fixture(scope="package")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    with running(tmp_path_factory.mktemp("aws"), "tests.servers.aws.double") as address:
        yield Aws(address)
