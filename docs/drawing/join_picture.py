"""A picture of an interval join: where a left record looks for its partners, and which it finds."""

from __future__ import annotations

from typing import Final

from docs.drawing.join_run import JoinRun
from docs.drawing.layout import Axis, draw_time_axis
from docs.drawing.runs import Element
from docs.drawing.strip import draw_legend, draw_strip, step_name
from docs.drawing.svg import MARGIN, Canvas, seconds
from firesteel.testing import StreamRecord

_BETWEEN_LANES: Final = 96


class JoinPicture:
    def __init__(self, run: JoinRun) -> None:
        self.run = run
        self.canvas = Canvas()
        self.elements = {e.number: e for e in run.elements.values()}
        lefts = [e.time for e in self.elements.values() if e.input == 0]
        times = [e.time for e in self.elements.values()]
        first = min([*times, min(lefts) + run.spec.lower_ms]) - 1_000
        last = max([*times, max(lefts) + run.spec.upper_ms]) + 1_000
        gutter = 30 + 7.5 * max(len(name) for name in run.scene.inputs)
        self.axis = Axis(first, last, MARGIN + gutter)

    def draw(self, title: str) -> str:
        run, canvas, axis = self.run, self.canvas, self.axis
        y = 32.0
        if run.scene.in_order:
            canvas.heading(y, "In order of arrival")
            shown = {"watermark": bool(run.watermarks()), "late": bool(run.late)}
            draw_legend(canvas, y, [name for name, is_shown in shown.items() if is_shown])
            y = draw_strip(canvas, y + 16, run, lambda number: self.elements[number].input) + 30
        canvas.heading(y, "In event time, seconds")
        lanes = (y + 40, y + 40 + _BETWEEN_LANES)
        bottom = lanes[1] + 54
        draw_time_axis(canvas, axis, y + 12, bottom)
        for element in self.elements.values():
            if element.input == 0:
                self._draw_reach(element, *lanes)
        self._draw_pairs(*lanes)
        for number, (name, lane) in enumerate(zip(run.scene.inputs, lanes, strict=True)):
            canvas.text(MARGIN, lane + 4.5, name, size=13, bold=True)
            canvas.line(axis.left, lane, axis.right, lane, "axis")
            self._draw_elements(number, lane)
        for watermark in run.watermarks():
            canvas.mark(axis(watermark), bottom + 20)
        return canvas.render(bottom + 44, title, self._description())

    def _draw_reach(self, left: Element, top: float, bottom: float) -> None:
        canvas, axis = self.canvas, self.axis
        start, end = axis(left.time + self.run.spec.lower_ms), axis(left.time + self.run.spec.upper_ms)
        edge = bottom - 23
        x = axis(left.time)
        funnel = f"M{x:.1f} {top:.1f}L{start:.1f} {edge:.1f}H{end:.1f}z"
        canvas.add(f'<path class="box0" style="stroke:none" d="{funnel}"/>')
        canvas.box(start, edge, end - start, 46, "box0")
        canvas.text(
            start - 8, edge + 4, self._bound(self.run.spec.lower_ms), "quiet", size=11.5, anchor="end"
        )
        canvas.text(end + 8, edge + 4, self._bound(self.run.spec.upper_ms), "quiet", size=11.5)

    def _bound(self, bound_ms: int) -> str:
        return f"{bound_ms / 1000:+g} s"

    def _draw_pairs(self, top: float, bottom: float) -> None:
        for left, right, _ in self.run.pairs:
            ends = [self.axis(self.elements[number].time) for number in (left, right)]
            self.canvas.line(ends[0], top, ends[1], bottom, "line0", width=1.5)

    def _draw_elements(self, lane: int, y: float) -> None:
        matched = {pair[lane] for pair in self.run.pairs}
        for element in self.elements.values():
            if element.input != lane:
                continue
            x = self.axis(element.time)
            if element.number in self.run.late:
                self.canvas.gap(x, y - self._lift(element))
                self.canvas.hollow_dot(x, y - self._lift(element), element.label, "late")
                continue
            self.canvas.dot(x, y, element.label, lane)
            if lane == 1:
                self._draw_results(element, x, y + 36, matched)

    def _lift(self, element: Element) -> float:
        """A record at the instant of another one stands above it."""
        twins = [e for e in self.elements.values() if (e.input, e.time) == (element.input, element.time)]
        return 26 * sum(e.number < element.number for e in twins)

    def _draw_results(self, right: Element, x: float, y: float, matched: set[int]) -> None:
        if right.number not in matched:
            self.canvas.text(x, y, "no pair", "quiet", size=11, anchor="middle")
            return
        stamps = [stamp for _, number, stamp in self.run.pairs if number == right.number]
        text = ", ".join(seconds(stamp) for stamp in stamps)
        self.canvas.text(x, y, f"pair at {text}", "ink", size=11, anchor="middle")

    def _description(self) -> str:
        arrivals = []
        for step, fed in enumerate(self.run.scene.feed):
            if isinstance(fed.event, StreamRecord):
                element = self.run.elements[step]
                name = self.run.scene.inputs[element.input]
                arrivals.append(f"{element.label} of {name} at {seconds(element.time)}")
            else:
                arrivals.append(step_name(fed.event))
        labels = {number: element.label for number, element in self.elements.items()}
        pairs = "; ".join(f"{labels[a]} and {labels[b]} at {seconds(t)}" for a, b, t in self.run.pairs)
        late = ", ".join(labels[number] for number in sorted(self.run.late))
        return f"What comes: {'; '.join(arrivals)}. Pairs: {pairs}." + (f" Too late: {late}." if late else "")
