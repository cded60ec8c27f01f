"""A job that goes on until it is told to end, with metrics of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.testing.local_platform import LocalPlatform
from tests.runtime.support import local_platform


@pytest.fixture(autouse=True)
def platform() -> Iterator[LocalPlatform]:
    with local_platform() as running:
        yield running
