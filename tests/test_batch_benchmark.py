"""The programs of the benchmark of BATCH mode, over a small folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.batch import AGGREGATED, FRAME, WordCounts
from benchmarks.batch_text import make
from benchmarks.environments import Environments

SIZE = 300_000


def test_the_text_has_the_size_that_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path / "text", SIZE)
    files = sorted((tmp_path / "text").glob("*.txt"))
    assert sum(file.stat().st_size for file in files) == pytest.approx(SIZE, rel=0.1)
    about = json.loads((tmp_path / "text" / "_about.json").read_text())
    words = [line.split(" ") for file in files for line in file.read_text().splitlines()]
    assert about == {"rows": len(words), "words": sum(map(len, words))}


@pytest.mark.spark
@pytest.mark.row("S-PERF-15", "S-BATCH-03", "S-BATCH-04")
def test_a_word_count_in_batch_mode_counts_what_plain_spark_counts(tmp_path: Path) -> None:
    counts = WordCounts(Environments({}), tmp_path, SIZE)
    assert counts.rate(AGGREGATED) > 0
    assert counts.rate(FRAME) > 0  # it compares
