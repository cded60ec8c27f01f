"""Draw the pictures of docs/concepts.md that no example stands behind.

python docs/make_concept_pictures.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it finds the package `docs`

from docs.drawing.svg import MARGIN, Canvas

PLACE: Final = Path(__file__).parent / "concepts"
_HIGH: Final = 30.0  # of a box


def program() -> str:
    """From the calls of a program to subtasks."""
    canvas = Canvas()
    canvas.heading(30, "What the program says")
    _row(canvas, 46, {"source": "box0", "map": "box0", "key_by": "card", "process": "box1", "sink": "box1"})
    canvas.heading(116, "What runs: chains, in two subtasks each")
    for number, y in enumerate((132.0, 184.0)):
        _box(canvas, 150, y, 200, "source, map", "box0")
        _box(canvas, 430, y, 200, "process, sink", "box1")
        canvas.text(MARGIN, y + 20, f"subtask {number}")
        canvas.text(646, y + 20, ("keys a, c, e", "keys b, d")[number], "quiet")
        for end in (132.0, 184.0):
            canvas.line(350, y + 15, 430, end + 15, "line0")
    told = "exchange: a key always goes to the same subtask"
    canvas.text(390, 238, told, "quiet", size=11, anchor="middle")
    return canvas.render(
        258,
        "A program of five calls becomes two chains, each in two subtasks",
        "Above, the calls: source, map, key_by, process, sink. Below, what runs. Source and map are one "
        "chain, process and sink another; each runs in two subtasks. Between them is an exchange: each "
        "subtask of the first chain sends to both of the second. Keys a, c and e go to subtask 0, b and d "
        "to subtask 1.",
    )


def checkpoint() -> str:
    """What a checkpoint holds together."""
    canvas = Canvas()
    canvas.heading(30, "A checkpoint is one instant of the whole job")
    lanes = (("source", 64.0), ("state", 124.0), ("sink", 184.0))
    for name, y in lanes:
        canvas.text(MARGIN, y + 20, name, bold=True)
        canvas.line(110, y + 15, 420, y + 15, "axis")
    _box(canvas, 130, 64, 250, "records 1 to 5 are read", "box0")
    _box(canvas, 130, 124, 250, "their sum: 15", "box1")
    _box(canvas, 130, 184, 250, "results up to 15 are shown", "box2")
    canvas.line(400, 48, 400, 226, "mark-line", width=2, dash="5 4")
    canvas.text(400, 244, "checkpoint", "mark-text", size=12, anchor="middle", bold=True)
    for y, text in ((64.0, "records 6 and 7"), (124.0, "sum: 28"), (184.0, "staged, not shown")):
        canvas.box(420, y, 190, _HIGH, "late open", dashed=True)
        canvas.text(515, y + 20, text, "quiet", size=12, anchor="middle")
    canvas.text(626, 144, "failure here: all three", "late-text", size=11)
    canvas.text(626, 160, "go back together", "late-text", size=11)
    return canvas.render(
        262,
        "Progress of the source, state and output belong together",
        "Three lanes from left to right. At a checkpoint the source has read records 1 to 5, the state is "
        "their sum 15, and results up to that are shown. Behind the checkpoint records 6 and 7 were read, "
        "the sum is 28, and results are staged and not shown. After a failure all three go back to the "
        "checkpoint together.",
    )


def _row(canvas: Canvas, y: float, boxes: dict[str, str]) -> None:
    width, gap = 116.0, 26.0
    for number, (name, css) in enumerate(boxes.items()):
        x = MARGIN + number * (width + gap)
        _box(canvas, x, y, width, name, css)
        if number:
            canvas.line(x - gap, y + _HIGH / 2, x, y + _HIGH / 2, "axis", width=1.5)


def _box(canvas: Canvas, x: float, y: float, width: float, text: str, css: str) -> None:
    canvas.box(x, y, width, _HIGH, css)
    canvas.text(x + width / 2, y + 20, text, size=12, anchor="middle")


FILES: Final[dict[str, Callable[[], str]]] = {"program.svg": program, "checkpoint.svg": checkpoint}


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    for name, draw in FILES.items():
        (PLACE / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
