"""A picture of windows: what comes in above, and below it the windows with what they hold when they fire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from docs.drawing.layout import Axis, draw_time_axis, pack, spread
from docs.drawing.runs import Element, Firing
from docs.drawing.strip import draw_legend, draw_strip, step_name
from docs.drawing.svg import MARGIN, Canvas, seconds
from docs.drawing.window_run import WindowRun
from firesteel.datastream.window import GlobalWindow, TimeWindow

_LANE: Final = 40
_ROW: Final = 45  # of one firing in a box
_DOT: Final = 9.5  # in a box


@dataclass(frozen=True, slots=True)
class Box:
    """A window of a key: where it stands, and its firings."""

    key: Any
    window: Any
    first: float
    last: float
    firings: tuple[Firing, ...]

    @property
    def height(self) -> float:
        return 6 + _ROW * max(1, len(self.firings))


class WindowPicture:
    def __init__(self, run: WindowRun) -> None:
        self.run = run
        self.canvas = Canvas()
        self.elements = {e.number: e for e in run.elements.values()}
        self.keys = list(dict.fromkeys(e.key for e in self.elements.values()))
        self._evicts = run.spec.evictor is not None
        self.boxes = self._boxes()
        self.axis = self._axis()

    # ---- what there is

    def _place(self, element: Element) -> float:
        return element.time if self.run.timed else element.number + 1

    def _boxes(self) -> list[Box]:
        fired = [(firing.key, firing.window) for firing in self.run.firings]
        windows = sorted(dict.fromkeys([*self.run.homes, *fired]), key=lambda pair: self._span(*pair))
        return [
            Box(key, window, *self._span(key, window), self._firings(key, window)) for key, window in windows
        ]

    def _firings(self, key: Any, window: Any) -> tuple[Firing, ...]:
        return tuple(f for f in self.run.firings if (f.key, f.window) == (key, window))

    def _span(self, key: Any, window: Any) -> tuple[float, float]:
        if isinstance(window, TimeWindow):
            return window.start, window.end
        if isinstance(window, GlobalWindow):
            return (0, self.run.last_clock) if self.run.timed else (0.5, len(self.elements) + 0.5)
        places = [self._place(self.elements[n]) for n in self.run.homes[key, window]]
        return min(places) - 0.5, max(places) + 0.5

    def _kept_until(self, box: Box) -> float:
        """The end of the window, or of its lateness."""
        return box.last + (self.run.spec.allowed_lateness_ms if isinstance(box.window, TimeWindow) else 0)

    def _axis(self) -> Axis:
        places = [self._place(e) for e in self.elements.values()]
        first = min([*places, *(box.first for box in self.boxes)])
        last = max([*places, *self.run.watermarks(), *(self._kept_until(box) for box in self.boxes)])
        gutter = 30 + 7.5 * max(len(label) for label in self._lane_labels().values())
        return Axis(first, last, MARGIN + gutter)

    def _lane_labels(self) -> dict[tuple[Any, int], str]:
        names = self.run.scene.inputs
        labels = {}
        for key in self.keys:
            text = key if isinstance(key, str) else "all"
            for i, name in enumerate(names):
                parts = [text] if len(names) == 1 else [text, name] if len(self.keys) > 1 else [name]
                labels[key, i] = " ".join(parts)
        return labels

    def _colour(self, number: int) -> int:
        element = self.elements[number]
        return element.input if len(self.run.scene.inputs) > 1 else self.keys.index(element.key)

    # ---- drawing

    def draw(self, title: str) -> str:
        run, canvas = self.run, self.canvas
        y = 32.0
        if run.scene.in_order:
            canvas.heading(y, "In order of arrival")
            draw_legend(canvas, y, self._legend())
            y = draw_strip(canvas, y + 16, run, self._colour) + 30
        canvas.heading(y, self._axis_name())
        top = y + 12
        bottom = top + sum(self._height(key) for key in self.keys)
        if run.timed:
            ends = [end for box in self.boxes for end in (box.first, box.last)]
            draw_time_axis(canvas, self.axis, top, bottom, ends)
            self._draw_marks(bottom)
        for key in self.keys:
            self._draw_key(key, top)
            top += self._height(key)
        return canvas.render(bottom + (44 if run.timed else 12), title, self._description())

    def _axis_name(self) -> str:
        if not self.run.timed:
            return "In their windows"
        return f"In {'processing' if self.run.in_processing_time else 'event'} time, seconds"

    def _legend(self) -> list[str]:
        used = {
            "watermark": bool(self.run.watermarks()) and self.run.timed,
            "firing": bool(self.run.firings),
            "late": bool(self.run.late),
            "evicted": self._evicts,
        }
        return [name for name, is_used in used.items() if is_used]

    def _rows(self, key: Any) -> tuple[list[tuple[Box, int]], list[float]]:
        """The boxes of a key with their rows, and the height of each row."""
        boxes = [box for box in self.boxes if box.key == key]
        rows = pack([(box.first, self._kept_until(box)) for box in boxes])
        heights = [max((b.height for b, r in zip(boxes, rows, strict=True) if r == row)) for row in
                   range(max(rows, default=-1) + 1)]  # fmt: skip
        return list(zip(boxes, rows, strict=True)), heights

    def _lane_height(self) -> float:
        tails = self.run.merges and not self.run.in_processing_time
        return _LANE + (10 if tails else 0)

    def _height(self, key: Any) -> float:
        _, heights = self._rows(key)
        return self._lane_height() * len(self.run.scene.inputs) + sum(h + 6 for h in heights) + 14

    def _draw_key(self, key: Any, top: float) -> None:
        for i in range(len(self.run.scene.inputs)):
            self._draw_lane(key, i, top + 24)
            top += self._lane_height()
        boxes, heights = self._rows(key)
        for box, row in boxes:
            self._draw_box(box, top + 4 + sum(h + 6 for h in heights[:row]))

    def _draw_lane(self, key: Any, lane: int, y: float) -> None:
        canvas, axis = self.canvas, self.axis
        canvas.text(MARGIN, y + 4.5, self._lane_labels()[key, lane], size=13, bold=True)
        canvas.line(axis.left, y, axis.right, y, "axis")
        here = [e for e in self.elements.values() if (e.key, e.input) == (key, lane)]
        if self._lane_height() > _LANE:
            self._draw_gaps(here, y)
        here.sort(key=lambda e: (self._place(e), e.number))
        points = spread([axis(self._place(e)) for e in here], 23, axis.left, axis.right)
        for element, x in zip(here, points, strict=True):
            if element.number in self.run.late:
                canvas.gap(x, y)
                canvas.hollow_dot(x, y, element.label, "late")
            else:
                canvas.dot(x, y, element.label, self._colour(element.number))

    def _draw_gaps(self, elements: list[Element], y: float) -> None:
        """What each element alone would be: from itself to the end of its gap."""
        for i, element in enumerate(sorted(elements, key=lambda e: e.time)):
            (window,) = self.run.spec.assigner.assign_windows(element.value, element.time, None)
            css, level = f"line{self._colour(element.number)}", y + 16 + 4 * (i % 3)
            self.canvas.line(self.axis(window.start), level, self.axis(window.end), level, css, width=2)

    def _draw_box(self, box: Box, y: float) -> None:
        canvas = self.canvas
        left, right = self.axis(box.first) + 1.5, self.axis(box.last) - 1.5
        colour = 0 if len(self.run.scene.inputs) > 1 else self.keys.index(box.key)
        css = f"box{colour}"
        if self._kept_until(box) > box.last:
            end = self.axis(self._kept_until(box)) - 1.5
            canvas.box(left, y, end - left, box.height, f"{css} open", dashed=True)
            canvas.text(end - 9, y + 18, "kept", "quiet", size=11.5, anchor="end")
        canvas.box(left, y, right - left, box.height, css, dashed=not box.firings)
        members = self.run.homes.get((box.key, box.window), [])
        if not box.firings:
            canvas.text(left + 9, y + 17, "never fires", "quiet", size=11.5)
            self._draw_members(members, [], left, right, y + 35)
        for row, firing in enumerate(box.firings):
            row_y = y + 3 + row * _ROW
            canvas.badge(left + 14, row_y + 11, firing.number)
            self._draw_caption(box, firing, left, right, row_y + 15, first=row == 0)
            self._draw_members(list(firing.members), self._evicted(box, row), left, right, row_y + 33)

    def _draw_caption(
        self, box: Box, firing: Firing, left: float, right: float, y: float, *, first: bool
    ) -> None:
        when = self._when(firing)
        room = right - left - 34
        if len(when) * 5.9 > room:
            when = when.split()[-1] if "watermark" in when else ""
        self.canvas.text(left + 27, y, when, "quiet", size=11.5)
        if first and isinstance(box.window, TimeWindow):
            name = f"[{seconds(box.window.start)}, {seconds(box.window.end)})"
            if (len(when) + len(name)) * 6.1 + 8 < room:
                self.canvas.text(right - 9, y, name, "ink", size=11.5, anchor="end", bold=True)

    def _when(self, firing: Firing) -> str:
        element = self.run.elements.get(firing.step)
        name = step_name(self.run.scene.feed[firing.step].event, element.label if element else "")
        return name if element or name.startswith("end") else f"at {name}"

    def _evicted(self, box: Box, row: int) -> list[int]:
        """The elements that this firing is without, and the one before it was not yet."""
        if not self._evicts:
            return []

        def missing(firing: Firing) -> set[int]:
            come = {e.number for step, e in self.run.elements.items() if step <= firing.step}
            return come.intersection(self.run.homes[box.key, box.window]).difference(firing.members)

        before = missing(box.firings[row - 1]) if row else set()
        return sorted(missing(box.firings[row]) - before)

    def _draw_members(
        self, members: list[int], evicted: list[int], left: float, right: float, y: float
    ) -> None:
        shown = sorted([*members, *evicted], key=lambda n: (self._place(self.elements[n]), n))
        wanted = [self.axis(self._place(self.elements[n])) for n in shown]
        for number, x in zip(shown, spread(wanted, 21, left + 13, right - 13), strict=True):
            label = self.elements[number].label
            if number in evicted:
                self.canvas.hollow_dot(x, y, label, "axis", radius=_DOT)
            else:
                self.canvas.dot(x, y, label, self._colour(number), radius=_DOT)

    def _draw_marks(self, bottom: float) -> None:
        for watermark in self.run.watermarks():
            self.canvas.mark(self.axis(watermark), bottom + 20)

    def _description(self) -> str:
        elements, sentences = self.elements, []
        arrivals = [
            step_name(fed.event)
            if step not in self.run.elements
            else _spoken(self.run.elements[step], timed=self.run.timed)
            for step, fed in enumerate(self.run.scene.feed)
        ]
        sentences.append(f"What comes, in order: {'; '.join(arrivals)}.")
        for firing in self.run.firings:
            labels = ", ".join(elements[n].label for n in firing.members) or "nothing"
            sentences.append(
                f"Firing {firing.number}, {self._when(firing)}: {_window_name(firing)} holds {labels}."
            )
        if self.run.late:
            sentences.append(f"Too late: {', '.join(elements[n].label for n in sorted(self.run.late))}.")
        return " ".join(sentences)


def _spoken(element: Element, *, timed: bool) -> str:
    key = f"{element.key} " if isinstance(element.key, str) else ""
    return f"{key}{element.label}" + (f" at {seconds(element.time)}" if timed else "")


def _window_name(firing: Firing) -> str:
    window = firing.window
    key = f" of key {firing.key}" if isinstance(firing.key, str) else ""
    if isinstance(window, TimeWindow):
        return f"the window from {seconds(window.start)} to {seconds(window.end)}{key}"
    return f"the window{key}"
