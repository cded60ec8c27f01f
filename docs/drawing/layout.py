"""Where things go: axes, rows without overlap, dots that do not cover each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docs.drawing.svg import MARGIN, WIDTH, Canvas, seconds


@dataclass(frozen=True, slots=True)
class Axis:
    """From what is shown (milliseconds, or places in a row) to points."""

    first: float
    last: float
    left: float
    right: float = WIDTH - MARGIN - 8

    def __call__(self, at: float) -> float:
        inside = min(max(at, self.first), self.last)
        return self.left + (inside - self.first) / (self.last - self.first) * (self.right - self.left)

    def ticks(self, borders: Iterable[float] = ()) -> list[int]:
        """Round times, at most 16 of them; ``borders`` are among them when that can be."""
        steps = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 300_000, 600_000, 3_600_000)
        wide_enough = [step for step in steps if (self.last - self.first) / step <= 15]
        on_borders = (step for step in wide_enough if all(border % step == 0 for border in borders))
        step = next(on_borders, wide_enough[0])
        first = -(-int(self.first) // step) * step
        return list(range(first, int(self.last) + 1, step))


def draw_time_axis(
    canvas: Canvas, axis: Axis, top: float, bottom: float, borders: Sequence[float] = ()
) -> None:
    """Grid lines from ``top`` to ``bottom``, and the seconds under them."""
    for tick in axis.ticks(borders):
        canvas.line(axis(tick), top, axis(tick), bottom, "rule")
        canvas.text(axis(tick), bottom + 16, seconds(tick), "quiet", size=11, anchor="middle")
    canvas.line(axis.left, bottom, axis.right, bottom, "axis")


def spread(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Ascending points moved as little as needed to be ``distance`` apart and within the limits."""
    groups: list[list[float]] = []  # each: the points that would put its first member where it is wanted
    for i, point in enumerate(wanted):
        groups.append([point - distance * i])
        while len(groups) > 1 and _mean(groups[-2]) > _mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    starts = [_mean(group) for group in groups for _ in group]
    top = high - distance * (len(starts) - 1)
    return [max(low, min(start, top)) + distance * i for i, start in enumerate(starts)]


def _mean(points: Sequence[float]) -> float:
    return sum(points) / len(points)


def pack(spans: Sequence[tuple[float, float]]) -> list[int]:
    """For each span, ordered by start, the number of a row in which it overlaps none before it."""
    ends: list[float] = []
    rows = []
    for start, end in spans:
        row = next((i for i, taken in enumerate(ends) if taken <= start), len(ends))
        ends[row : row + 1] = [end]
        rows.append(row)
    return rows
