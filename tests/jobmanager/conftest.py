"""Programs of these tests run in this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.testing.local_platform import LocalPlatform
from tests.runtime.support import feeds, local_platform


@pytest.fixture(autouse=True)
def platform() -> Iterator[LocalPlatform]:
    feeds.clear()
    with local_platform() as running:
        yield running
