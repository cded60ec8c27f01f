"""Programs on Spark, one after the other in one process: each start of Spark takes longer than most of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.differential.comparison import HERE
from tests.spark.support import firesteel, run


def run_several(programs: Sequence[Path], directory: Path, *options: str) -> dict[Path, str]:
    """Return what each of *programs* prints. None may complain of anything.

    :param options: of ``firesteel run``.
    """
    files = [str(program) for program in programs]
    done = run(firesteel("run", "--pyflink", *options, HERE / "several.py", *files), directory, timeout_s=280)
    assert (done.code, done.complaints) == (0, "")
    parts = dict(part.partition("\n")[::2] for part in f"\n{done.out}\n".split("\n== ")[1:])
    assert list(parts) == files
    return {program: parts[str(program)] for program in programs}
