"""Programs of these tests run in this process, without Spark, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.testing.local_platform import LocalPlatform
from tests.runtime.support import local_platform


@pytest.fixture(autouse=True)
def platform() -> Iterator[LocalPlatform]:
    with local_platform() as running:
        yield running
