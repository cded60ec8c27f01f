"""Make the pictures of these pages again, from what their examples do.

    python docs/make_pictures.py            # writes docs/pictures/*.svg

Each picture is that of the example with its name; its title is the text of the picture in the page. The
assigners, triggers, evictors and joins of the examples are run for it, so a picture shows what happens.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it finds the package `docs`

from docs.drawing.join_picture import JoinPicture
from docs.drawing.join_run import run_join
from docs.drawing.pages import PICTURES, Example, pictures
from docs.drawing.pattern_picture import PatternPicture
from docs.drawing.scenes import scene_of
from docs.drawing.steps_picture import StepsPicture
from docs.drawing.watermark_picture import WatermarkPicture, shows_watermarks
from docs.drawing.window_picture import WindowPicture
from docs.drawing.window_run import run_windows
from firesteel.program.operators import IntervalJoin, Window
from firesteel.program.transformations import OneInputTransformation, TwoInputTransformation
from firesteel.testing import PatternTester


def make(example: Example, title: str) -> str:
    """The picture of an example, as the text of an SVG file."""
    if "PatternTester(" in example.code:
        return PatternPicture(testers_of(example)).draw(title)
    scene = scene_of(example)
    match scene.operator:
        case OneInputTransformation(operator=Window() as spec) as operator:
            return WindowPicture(run_windows(scene, operator, spec)).draw(title)
        case TwoInputTransformation(operator=IntervalJoin() as spec) as operator:
            return JoinPicture(run_join(scene, operator, spec)).draw(title)
        case _ if shows_watermarks(scene):
            return WatermarkPicture(scene).draw(title)
        case _:
            return StepsPicture(scene).draw(title)


def testers_of(example: Example) -> dict[str, PatternTester]:
    """What an example of a pattern has in ``testers``."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(StringIO()):
        exec(compile(example.code, f"{example.name}.py", "exec"), names)
    found: dict[str, PatternTester] = names["testers"]
    return found


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    made = {f"{example.name}.svg": make(example, title) for example, title in pictures()}
    for old in PICTURES.glob("*.svg"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pictures in {PICTURES}")


if __name__ == "__main__":
    main()
