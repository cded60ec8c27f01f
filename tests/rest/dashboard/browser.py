"""Chromium, and pages that remember what went wrong in them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, Response, expect

from tests.waiting import patience

WIDE, NARROW = 1400, 360
expect.set_options(timeout=patience(10) * 1000)


def chromium() -> str:
    """The browser of the system."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found is not None:
            return found
    raise AssertionError("There is no Chromium: scripts/test-servers installs it (package chromium).")


class Watched:
    """A page, and whatever a user would see in the console of the browser."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", self._raised)
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)
        page.on("request", lambda request: self.requests.append(request.url))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def _raised(self, error: Error) -> None:
        self.problems.append(f"error: {error}")

    def _failed(self, request: Request) -> None:
        # A page that is left ends what it has asked for.
        if request.failure != "net::ERR_ABORTED":
            self.problems.append(f"failed: {request.url} {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status}: {response.url}")

    def fits(self) -> None:
        """Nothing is beside the page, where nobody would find it."""
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= self.page.viewport_size["width"], (self.page.url, wide)  # type: ignore[index]


@contextmanager
def opened(browser: Browser, url: str, width: int = WIDE, **context: object) -> Iterator[Watched]:
    """A page of its own, which must have no problem in the end."""
    made = browser.new_context(viewport={"width": width, "height": 900}, base_url=url, **context)  # type: ignore[arg-type]
    try:
        made.set_default_timeout(patience(30) * 1000)
        watched = Watched(made.new_page())
        yield watched
        assert not watched.problems, watched.problems
        elsewhere = [u for u in watched.requests if not u.startswith((url, "data:", "blob:"))]
        assert not elsewhere, elsewhere
    finally:
        made.close()
