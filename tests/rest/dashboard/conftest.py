"""One browser and one server with jobs for all tests of the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.rest.dashboard.browser import chromium
from tests.rest.dashboard.shop import Shop, shop


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="package")
def jobs() -> Iterator[Shop]:
    """Those of the shop. A test that ends one starts it itself."""
    with shop() as found:
        yield found
