"""Waiting for a newer view of a job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from firesteel.common.clock import Clock
from firesteel.jobmanager.job_view import JobView

_POLL_S: Final = 0.1


async def await_newer(
    look: Callable[[], JobView | None], version: int, timeout_s: float, clock: Clock
) -> JobView | None:
    """Return the first view that *look* finds and that is newer than *version*; None if there is none in
    time, or no such job any more."""
    until_s = clock.monotonic_s() + timeout_s
    while True:
        view = look()
        if view is None or view.version > version:
            return view
        if clock.monotonic_s() >= until_s:
            return None
        await asyncio.sleep(_POLL_S)
