"""Draw docs/design/epoch.svg: two epochs of a job, one of them tried twice.

python docs/make_epoch_picture.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it finds the package `docs`

from docs.drawing.svg import MARGIN, Canvas

FILE = Path(__file__).parent / "design" / "epoch.svg"
TITLE = "Two epochs of a job; the second is tried twice"
DESCRIPTION = (
    "Time goes from left to right. Epoch 7: the driver plans offsets 400 to 500 of split A and 90 to 160 of "
    "split B; two source tasks read them and send buffers through Spark's exchange to two keyed tasks; all "
    "four answer; the driver commits: positions 500 and 160, and the changes of state. Epoch 8 is planned "
    "from there. Its first attempt fails with a keyed task, and nothing of the attempt counts. The second "
    "attempt repeats the plan, reads the same ranges and is committed."
)

_DRIVER, _SOURCES, _KEYED, _STATE = 66.0, (132.0, 168.0), (246.0, 282.0), 352.0
_BOX = 26.0


class EpochPicture:
    def __init__(self) -> None:
        self.canvas = Canvas()

    def draw(self) -> str:
        self._lanes()
        self._attempt(130, "epoch 7", "plan", ("400-500", "90-160"), "commit 7")
        self._attempt(346, "epoch 8, first attempt", "plan", ("500-600", "160-240"), None)
        self._attempt(536, "epoch 8, again", "repeat", ("500-600", "160-240"), "commit 8")
        return self.canvas.render(398, TITLE, DESCRIPTION)

    def _lanes(self) -> None:
        canvas = self.canvas
        canvas.heading(30, "Driver, tasks and state over time")
        canvas.text(MARGIN, _DRIVER + 17, "driver", bold=True)
        for name, rows in (("source", _SOURCES), ("keyed", _KEYED)):
            for number, y in enumerate(rows):
                canvas.text(MARGIN, y + 17, f"{name} task {number}")
        canvas.text(MARGIN, _STATE + 17, "state", bold=True)
        canvas.text(MARGIN, 222, "exchange", "quiet")
        canvas.line(124, _STATE + 13, 740, _STATE + 13, "axis")

    def _attempt(self, x: float, name: str, begin: str, ranges: tuple[str, str], commit: str | None) -> None:
        canvas = self.canvas
        canvas.text(x, 52, name, "quiet", size=11.5, bold=True)
        canvas.box(x, _DRIVER, 44, _BOX, "box2")
        canvas.text(x + 22, _DRIVER + 17, begin, size=11, anchor="middle")
        reading, keyed = x + 22, x + 92
        for y, range_ in zip(_SOURCES, ranges, strict=True):
            canvas.line(x + 22, _DRIVER + _BOX, x + 22, y, "axis")
            canvas.box(reading, y, 66, _BOX, "box0")
            canvas.text(reading + 33, y + 17, range_, size=11, anchor="middle")
        self._exchange(reading + 56, keyed + 8)
        for number, y in enumerate(_KEYED):
            fails = commit is None and number == 1
            canvas.box(keyed, y, 58, _BOX, "late open" if fails else "box1", dashed=fails)
            canvas.text(keyed + 29, y + 17, "fails" if fails else "process", "late-text" if fails else "ink",
                        size=11, anchor="middle")  # fmt: skip
        if commit is None:
            canvas.text(x + 60, _STATE + 4, "nothing of it counts", "late-text", size=11)
        else:
            self._commit(keyed + 62, commit)

    def _exchange(self, left: float, right: float) -> None:
        top, bottom = _SOURCES[1] + _BOX, _KEYED[0]
        for start in (left - 20, left):
            for end in (right, right + 16):
                self.canvas.line(start, top, end, bottom, "line0")

    def _commit(self, x: float, name: str) -> None:
        """The answers of all four tasks, and what the driver makes of them."""
        canvas = self.canvas
        for y in (*_SOURCES, *_KEYED):
            canvas.line(x - 4 if y in _KEYED else x - 66, y + 13, x + 14, y + 13, "rule", width=1.5)
        canvas.line(x + 14, _KEYED[1] + 13, x + 14, _DRIVER + _BOX, "line2", width=1.5)
        canvas.add(f'<path class="dot2" d="M{x + 14:.1f} {_DRIVER + _BOX:.1f}l4 8h-8z"/>')
        canvas.text(x + 18, _DRIVER + _BOX + 18, "answers", "quiet", size=10)
        canvas.box(x - 18, _DRIVER, 64, _BOX, "box2")
        canvas.text(x + 14, _DRIVER + 17, name, size=11, anchor="middle", bold=True)
        canvas.box(x - 22, _STATE, 70, _BOX, "box1")
        canvas.text(x + 13, _STATE + 17, f"changes {name[-1]}", size=11, anchor="middle")


def main() -> None:
    FILE.write_text(EpochPicture().draw(), encoding="utf-8")
    print(FILE)


if __name__ == "__main__":
    main()
