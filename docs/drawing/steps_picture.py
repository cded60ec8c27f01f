"""A picture of a function: what comes to each of its inputs, one step after the other, and what comes out."""

from __future__ import annotations

from typing import Any, Final

from docs.drawing.scenes import Fed, Scene
from docs.drawing.strip import draw_time, step_name
from docs.drawing.svg import MARGIN, WIDTH, Canvas, seconds
from firesteel.testing import StreamRecord

_LANE: Final = 50
_LINE: Final = 18  # of output


class StepsPicture:
    """Each step has a column: what comes in above, and what comes of it below."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.canvas = Canvas()
        used = {fed.input for fed in scene.feed if _is_record(fed)}
        names = [*(scene.inputs[number] for number in sorted(used)), "time", "output"]
        if all(map(_is_record, scene.feed)):
            names.remove("time")
        self.lanes = {name: 38.0 + _LANE * row for row, name in enumerate(names)}
        self.left = MARGIN + 32 + 8 * max(map(len, names))
        self.column = (WIDTH - MARGIN - self.left) / len(scene.feed)

    def draw(self, title: str) -> str:
        for name, y in self.lanes.items():
            self.canvas.text(MARGIN, y + 4.5, name, size=13, bold=True)
            if name != "output":
                self.canvas.line(self.left - 8, y, WIDTH - MARGIN, y, "axis")
        for step, fed in enumerate(self.scene.feed):
            self._draw_step(self.left + self.column * (step + 0.5), fed)
        lines = max(1, *(len(_values(fed)) for fed in self.scene.feed))
        return self.canvas.render(self.lanes["output"] + _LINE * lines + 14, title, self._description())

    def _draw_step(self, x: float, fed: Fed) -> None:
        canvas, out = self.canvas, self.lanes["output"]
        y = self.lanes[self.scene.inputs[fed.input] if _is_record(fed) else "time"]
        if _values(fed):
            css = "axis" if _is_record(fed) else "mark-line"
            canvas.line(x, y + (32 if _time(fed) else 0), x, out - 14, css, dash="3 3")
        if isinstance(fed.event, StreamRecord):
            label = _label(fed.event.value)
            width = 14 + 7 * len(label)
            canvas.box(x - width / 2, y - 12, width, 24, f"dot{fed.input}", radius=12)
            canvas.text(x, y + 4, label, "dot-text", size=11.5, anchor="middle", bold=True)
            canvas.text(x, y + 27, _time(fed), "quiet", size=11, anchor="middle")
        else:
            draw_time(canvas, x, y, fed.event, _time(fed))
        for row, value in enumerate(_values(fed)):
            canvas.text(x, out + 4.5 + _LINE * row, _label(value), "ink", anchor="middle", bold=True)

    def _description(self) -> str:
        sentences = []
        for fed in self.scene.feed:
            what = step_name(fed.event)
            if isinstance(fed.event, StreamRecord):
                what = f"{_label(fed.event.value)} comes to {self.scene.inputs[fed.input]}"
            out = ", ".join(_label(value) for value in _values(fed)) or "nothing"
            sentences.append(f"{what[0].upper()}{what[1:]}: {out} comes out.")
        return " ".join(sentences)


def _is_record(fed: Fed) -> bool:
    return isinstance(fed.event, StreamRecord)


def _values(fed: Fed) -> list[Any]:
    return [event.value for event in fed.out if isinstance(event, StreamRecord)]


def _time(fed: Fed) -> str:
    if isinstance(fed.event, StreamRecord):
        return "" if fed.event.timestamp is None else seconds(fed.event.timestamp)
    return step_name(fed.event).split()[-1]


def _label(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return " ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in parts)
