"""A picture of patterns: the events that come, and below them, for each pattern, one row for each match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docs.drawing.svg import MARGIN, WIDTH, Canvas
from firesteel.testing import PatternTester

_GUTTER: Final = 250
_ROW: Final = 30
_RADIUS: Final = 11


class PatternPicture:
    """
    :param testers: by what is said of the pattern; all have got the same events.
    """

    def __init__(self, testers: Mapping[str, PatternTester]) -> None:
        self.testers = testers
        self.canvas = Canvas()
        self.events = [value for value, _ in next(iter(testers.values())).events]
        # A stage has one colour in all rows: by its place in the match that has most of them.
        matches = [match for tester in testers.values() for match in tester.matches]
        self.colours = {stage: n % 3 for n, stage in enumerate(max(matches, key=len, default={}))}
        step = (WIDTH - 2 * MARGIN - _GUTTER) / len(self.events)
        self.places = {event: MARGIN + _GUTTER + step * (n + 0.5) for n, event in enumerate(self.events)}

    def draw(self, title: str) -> str:
        canvas = self.canvas
        y = 40.0
        canvas.text(MARGIN, y + 4, "Events, in order", "quiet", bold=True)
        canvas.line(MARGIN + _GUTTER, y, WIDTH - MARGIN, y, "axis")
        for event, x in self.places.items():
            canvas.gap(x, y)
            canvas.text(x, y + 4.5, str(event), anchor="middle", bold=True)
        y += 26
        for name, tester in self.testers.items():
            canvas.line(MARGIN, y, WIDTH - MARGIN, y, "rule")
            y = self._draw_matches(name, tester, y + 22)
        return canvas.render(y, title, self._description())

    def _draw_matches(self, name: str, tester: PatternTester, y: float) -> float:
        canvas = self.canvas
        canvas.text(MARGIN, y + 4, name, bold=True)
        if not tester.matches:
            canvas.text(MARGIN + _GUTTER, y + 4, "no match", "quiet")
            return y + _ROW
        for match in tester.matches:
            dots = [(stage, event) for stage, events in match.items() for event in events]
            xs = [self.places[event] for _, event in dots]
            canvas.line(xs[0], y, xs[-1], y, "line0", width=2)
            for (stage, event), x in zip(dots, xs, strict=True):
                canvas.dot(x, y, str(event), self.colours[stage], radius=_RADIUS)
            y += _ROW
        return y

    def _description(self) -> str:
        parts = []
        for name, tester in self.testers.items():
            found = "; ".join(_words(match) for match in tester.matches) or "no match"
            parts.append(f"{name}: {found}")
        return f"Events {', '.join(map(str, self.events))}. " + ". ".join(parts) + "."


def _words(match: Mapping[str, list[Any]]) -> str:
    return " ".join(str(event) for events in match.values() for event in events)
