"""Windows of time in slices: each row is in one slice, and a window is some slices in a row.

TUMBLE: a slice is a window. HOP: a window has size / slide slices, which overlapping windows share. CUMULATE:
a window has the slices from the start of the longest one on. All are named by their end. (Flink:
``SliceAssigners``.)
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql.operators.specs import TimeWindow
from firesteel.sql.operators.watermarks import milliseconds

__all__ = ["UTC", "Slices", "instant_of", "instants_of", "local_milliseconds"]

Array = np.ndarray[Any, Any]
#: Zones whose clocks show the instant itself.
UTC: Final = ("UTC", "Z", "GMT", "Etc/UTC")


def local_milliseconds(times: pa.Array, zone: str) -> Array:
    """Timestamps in milliseconds; instants as the clocks of *zone* show them."""
    if times.type.tz is not None and zone not in UTC:
        times = pc.local_timestamp(pc.cast(times, pa.timestamp("ms", zone), safe=False))
    return milliseconds(times)


def instant_of(local_ms: int, zone: str) -> int:
    """The instant at which the clocks of *zone* show a time; of two the earlier one, after a gap the
    first."""
    return int(instants_of(np.array([local_ms], np.int64), zone)[0])


def instants_of(local: Array, zone: str) -> Array:
    """The same of many times."""
    if zone in UTC:
        return local
    naive = pa.array(local, pa.int64()).view(pa.timestamp("ms"))
    zoned = pc.assume_timezone(naive, zone, ambiguous="earliest", nonexistent="latest")
    found: Array = zoned.view(pa.int64()).to_numpy()
    return found


class Slices:
    """
    :ivar step: the length of a slice. :ivar kind: TUMBLE, HOP or CUMULATE.
    """

    def __init__(self, window: TimeWindow) -> None:
        self.kind = window.kind
        self.size = window.size
        self.offset = window.offset
        self.slide = window.slide if window.kind == "HOP" else window.size
        self.step = {
            "TUMBLE": window.size,
            "HOP": math.gcd(window.size, window.slide),
            "CUMULATE": window.slide,
        }[window.kind]

    def ends(self, times: Array) -> Array:
        """The slice of each time."""
        return (times - self.offset) // self.step * self.step + self.offset + self.step

    def start(self, end: int) -> int:
        """Where the window of an end starts."""
        return int(self.starts(end))

    def starts(self, ends: Any) -> Any:
        """The same of many windows, or of one."""
        if self.kind == "CUMULATE":
            return (ends - self.offset - 1) // self.size * self.size + self.offset
        return ends - self.size

    def last_windows(self, ends: Any) -> Any:
        """The end of the last window that each slice is in, or one slice; before the slice itself: it is in
        none, as windows that are shorter than their slide leave gaps."""
        if self.kind == "HOP":
            starts = (ends - self.step - self.offset) // self.slide * self.slide + self.offset
            return starts + self.size
        if self.kind == "CUMULATE":
            starts = (ends - self.offset - 1) // self.size * self.size + self.offset
            return starts + self.size
        return ends

    def windows(self, end: int) -> range:
        """The ends of the windows that a slice is in."""
        last = int(self.last_windows(end))
        if self.kind == "CUMULATE":
            return range(end, last + 1, self.step)
        return range(last - (last - end) // self.slide * self.slide, last + 1, self.slide)

    def of_window(self, end: int) -> range:
        """The slices of a window."""
        return range(self.start(end) + self.step, end + 1, self.step)

    def over_with(self, end: int) -> list[int]:
        """The slices for which the window of an end is the last one."""
        return [of for of in self.of_window(end) if self.last_windows(of) <= end]
