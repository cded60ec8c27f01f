"""The upper part of a picture: what comes in, in order, and which step makes which windows fire."""

from __future__ import annotations

from collections.abc import Callable

from docs.drawing.runs import Run
from docs.drawing.scenes import Clock
from docs.drawing.svg import MARGIN, WIDTH, Canvas, seconds
from firesteel.testing import END_OF_TIME, StreamRecord, Watermark

_SLOT = 52
_LEGEND: dict[str, tuple[str, Callable[[Canvas, float, float], None]]] = {
    "watermark": ("watermark", lambda canvas, x, y: canvas.mark(x, y - 9)),
    "firing": ("a window fires", lambda canvas, x, y: canvas.box(x - 5, y - 10, 11, 11, "badge", radius=3)),
    "late": ("too late", lambda canvas, x, y: canvas.hollow_dot(x, y - 4, "", "late", radius=5)),
    "evicted": ("evicted", lambda canvas, x, y: canvas.hollow_dot(x, y - 4, "", "axis", radius=5)),
}


def step_name(event: object, label: str = "") -> str:
    """``watermark 5``, ``clock 5``, ``end of input``, or the element that comes."""
    match event:
        case Watermark() if event == END_OF_TIME:
            return "end of input"
        case Watermark(timestamp):
            return f"watermark {seconds(timestamp)}"
        case Clock(time):
            return f"clock {seconds(time)}"
        case _:
            return f"as {label} comes"


def draw_legend(canvas: Canvas, y: float, names: list[str]) -> None:
    widths = [34 + 6.5 * len(_LEGEND[name][0]) for name in names]
    x = WIDTH - MARGIN - sum(widths) + 20
    for name, width in zip(names, widths, strict=True):
        text, draw = _LEGEND[name]
        draw(canvas, x, y)
        canvas.text(x + 11, y, text, "quiet", size=11.5)
        x += width


def draw_strip(canvas: Canvas, top: float, run: Run, colour: Callable[[int], int]) -> float:
    """Returns where it ends. ``colour`` is that of an element, by its number."""
    feed = run.scene.feed
    slot = min(_SLOT, (WIDTH - 2 * MARGIN) / len(feed))
    middle = top + 14
    right = MARGIN + slot * len(feed)
    canvas.line(MARGIN, middle, right, middle, "axis")
    canvas.path(f"M{right - 5:.1f} {middle - 4:.1f}l5 4l-5 4", "axis", width=1)
    below = 44 if any(_time_below(run, step) for step in range(len(feed))) else 26
    rows = 0
    for step, fed in enumerate(feed):
        x = MARGIN + slot * (step + 0.5) - 4
        if isinstance(fed.event, StreamRecord):
            _draw_element(canvas, x, middle, run, step, colour)
        else:
            draw_time(canvas, x, middle, fed.event, _time_below(run, step))
        fired = [firing.number for firing in run.firings if firing.step == step]
        _draw_badges(canvas, x, middle + below, fired)
        rows = max(rows, (len(fired) + 1) // 2)
    return middle + below - 10 + 20 * rows


def _draw_badges(canvas: Canvas, x: float, y: float, numbers: list[int]) -> None:
    """Two in a row."""
    for i, number in enumerate(numbers):
        alone = i == len(numbers) - 1 and i % 2 == 0
        canvas.badge(x if alone else x - 10 + 20 * (i % 2), y + 20 * (i // 2), number)


def _draw_element(
    canvas: Canvas, x: float, y: float, run: Run, step: int, colour: Callable[[int], int]
) -> None:
    element = run.elements[step]
    canvas.gap(x, y)
    if element.number in run.late:
        canvas.hollow_dot(x, y, element.label, "late")
    else:
        canvas.dot(x, y, element.label, colour(element.number))
    canvas.text(x, y + 27, _time_below(run, step), "quiet", size=11, anchor="middle")


def _time_below(run: Run, step: int) -> str:
    """What stands below a step: when it is."""
    event = run.scene.feed[step].event
    if isinstance(event, StreamRecord):
        shown = run.timed and not run.in_processing_time
        return seconds(run.elements[step].time) if shown else ""
    return "" if event == END_OF_TIME else step_name(event).split()[-1]


def draw_time(canvas: Canvas, x: float, y: float, event: object, time: str) -> None:
    is_mark = isinstance(event, Watermark) and bool(time)
    letter = "W" if is_mark else "clock" if time else "end"
    width = 24 if is_mark else 38
    canvas.box(x - width / 2, y - 11, width, 22, "mark" if is_mark else "badge", radius=11)
    canvas.text(x, y + 4, letter, "badge-text", size=11, anchor="middle", bold=True)
    canvas.text(x, y + 27, time, "mark-text" if is_mark else "quiet", size=11, anchor="middle")
