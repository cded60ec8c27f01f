"""Answers that several pages ask for every few seconds, kept as bytes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from firesteel.jobmanager.job_view import JobView

encode: Final = msgspec.json.Encoder().encode
#: Durations and the present time are in many answers, so an answer of a running job grows old.
_FRESH_S: Final = 1.0
_KEPT_BYTES: Final = 32 << 20


class Answers:
    """Belongs to the event loop. The answers that were asked for last, up to a number of bytes."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._kept: OrderedDict[tuple[str, ...], tuple[int, float, bytes]] = OrderedDict()
        self._bytes = 0

    def of(self, job: JobView, key: tuple[str, ...], make: Callable[[], msgspec.Struct]) -> bytes:
        """The answer for this view of a job; ``make`` is called when there is none that is fresh."""
        full = (job.job_id, *key)
        found = self._kept.get(full)
        now_s = self._monotonic_s()
        if found is not None and found[0] == job.version and now_s - found[1] < _FRESH_S:
            self._kept.move_to_end(full)
            return found[2]
        body = encode(make())
        self._drop(full)
        self._kept[full] = (job.version, now_s, body)
        self._bytes += len(body)
        while self._bytes > _KEPT_BYTES:
            self._drop(next(iter(self._kept)))
        return body

    def _drop(self, key: tuple[str, ...]) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._bytes -= len(found[2])
