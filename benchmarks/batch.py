"""Case s: a word count over a folder in BATCH mode, beside the same in plain PySpark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.batch_text import make
from benchmarks.cases import Measured, compare, progress
from benchmarks.environments import OURS, Environments
from benchmarks.measure import Comparison, System, execute

_TEXTS: Final = Path(__file__).parent / ".events"
_WARM_UP: Final = 20 << 20
_TIMEOUT_S: Final = 3_600
PLAIN: Final = System("firesteel, BATCH", OURS, "batch_words.py")
AGGREGATED: Final = System(
    "firesteel, BATCH, pre-aggregation",
    OURS,
    "batch_words.py",
    arguments=("--config", "firesteel.window.pre-aggregation=true"),
)
RDD: Final = System("PySpark, functions over an RDD", OURS, "batch_words_spark.py")
FRAME: Final = System("PySpark, DataFrame", OURS, "batch_words_spark.py", arguments=("--variant", "frame"))


class WordCounts:
    """Counts the words of a folder, and of a small one before it in each process.

    :param size: of the folder, in bytes.
    """

    def __init__(self, environments: Environments, texts: Path, size: int) -> None:
        self._environments = environments
        sizes = [_WARM_UP, size] if size > _WARM_UP else [size]
        self._folders = [texts / f"words-{bytes_}" for bytes_ in sizes]
        for folder, bytes_ in zip(self._folders, sizes, strict=True):
            make(folder, bytes_)
        self._found: dict[tuple[int, int], str] = {}

    def measured(self, system: System) -> Measured:
        return Measured(system.name, lambda: self.rate(system))

    def rate(self, system: System) -> float:
        """Rows a second, with the start of the job.

        :raises SystemExit: it has not counted the same as the systems before.
        """
        where = ("--folders", *map(str, self._folders))
        sized = replace(system, arguments=(*system.arguments, *where), timeout_s=_TIMEOUT_S)
        line: dict[str, Any] = execute(sized, self._environments, []).lines[-1]
        self._found.setdefault((line["distinct"], line["sum"]), system.name)
        if len(self._found) > 1:
            raise SystemExit(f"the systems do not count the same: {self._found}")
        progress(f"  {system.name}: {line['records']:,} rows in {line['seconds']:.1f} s")
        return float(line["rate"])


def batch(environments: Environments, rounds: int, size: int) -> list[Comparison]:
    """:param size: of the folder, in bytes."""
    counts = WordCounts(environments, _TEXTS, size)
    case = f"s: word count, {size >> 20:,} MB"
    peers = [(counts.measured(RDD), 1.0), (counts.measured(FRAME), 0.05)]
    results = compare(case, "rows/s", True, counts.measured(AGGREGATED), peers, rounds)
    return results + compare(
        case, "rows/s", True, counts.measured(PLAIN), [(counts.measured(RDD), 0.5)], rounds
    )
