"""A program that reads files and writes through two kinds of two-phase commit. ``tests/data`` keeps a
checkpoint of it from each form in which progress, output that waits and accumulators were stored.

``python -m tests.jobmanager.programs.kept_files NAME`` writes ``tests/data/NAME``: the directory in which the
program failed, with its input, its output and its checkpoints. One that is kept is never written again.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.accumulators import (
    AverageAccumulator,
    Histogram,
    IntCounter,
    IntMaximum,
    ListAccumulator,
)
from firesteel.datastream import MapFunction, RuntimeContext
from firesteel.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from firesteel.datastream.functions import TwoPhaseCommitSinkFunction
from firesteel.jobmanager.checkpoints.storage import stored_checkpoints
from firesteel.jobmanager.gateway import JobGateway
from tests.jobmanager.checkpoint_support import RECOVERY, RETENTION, submit
from tests.jobmanager.test_recovery import every_epoch
from tests.runtime.support import local_platform
from tests.waiting import patience

DATA = Path(__file__).parents[2] / "data"
HOME = Path("/tmp/firesteel-kept-files")
ID = "0123456789abcdef0123456789abcdef"
LINES = [f"line {n:02}" for n in range(40)]
ACCUMULATORS = {"lines": 40, "lengths": {7: 40}, "longest": 7, "mean": 7.0}


class Committed(TwoPhaseCommitSinkFunction):
    """Each transaction is a file in ``committed``."""

    def begin_transaction(self) -> list[Any]:
        return [self.get_transaction_id()]

    def invoke(self, transaction: list[Any], value: Any, context: Any) -> None:  # type: ignore[override]
        transaction.append(value)

    def pre_commit(self, transaction: list[Any]) -> None: ...

    def commit(self, transaction: list[Any]) -> None:
        name, *values = transaction
        Path("committed", f"{name}.json".replace(os.sep, "-")).write_text(json.dumps(values))

    def abort(self, transaction: list[Any]) -> None: ...


class Counted(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.lines, self.lengths = IntCounter(), Histogram()
        self.longest, self.mean, self.all = IntMaximum(), AverageAccumulator(), ListAccumulator()
        for name in ("lines", "lengths", "longest", "mean", "all"):
            runtime_context.add_accumulator(name, getattr(self, name))

    def __init__(self, fails_at: str | None) -> None:
        self.fails_at = fails_at

    def map(self, value: Any) -> Any:
        if value == self.fails_at:
            raise ValueError(f"{value} cannot be")
        self.lines.add(1)
        for accumulator in (self.lengths, self.longest, self.mean):
            accumulator.add(len(value))
        self.all.add(value)
        return value


def run(begin: str | None = None, fails_at: str | None = None) -> JobGateway:
    """In the working directory, with a checkpoint after each epoch."""
    options = {
        RETENTION: "RETAIN_ON_CANCELLATION",
        "restart-strategy.type": "none",
        "$internal.pipeline.job-id": ID,
        "firesteel.epoch.max-records": "4",
        **({RECOVERY: begin} if begin is not None else {}),
    }
    env = every_epoch(Path("checkpoints"), 2, **options)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input").build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "files").uid("files")
    counted = lines.map(Counted(fails_at), output_type=Types.STRING()).uid("counted")
    rows = FileSink.for_row_format("output", Encoder.simple_string_encoder()).build()
    counted.sink_to(rows).uid("rows")
    counted.add_sink(Committed()).uid("committed")
    job = submit(env, "kept files")
    assert job.wait(patience(60))
    return job


def prepare() -> None:
    Path("input").mkdir()
    Path("committed").mkdir()
    for name, lines in (("a.txt", LINES[:15]), ("b.txt", LINES[15:])):
        Path("input", name).write_text("".join(f"{line}\n" for line in lines))


def outcome() -> tuple[Counter[str], Counter[str]]:
    """What the two sinks have given out."""
    files = [
        path for path in Path("output").rglob("*") if path.is_file() and not path.name.startswith((".", "_"))
    ]
    rows = Counter(line for path in files for line in path.read_text().splitlines())
    committed = Counter(
        value for path in Path("committed").iterdir() for value in json.loads(path.read_text())
    )
    return rows, committed


def newest() -> str:
    return stored_checkpoints(f"checkpoints/{ID}")[0].path


@contextmanager
def at_home(content: Path | None = None) -> Iterator[None]:
    """Work in the one directory in which every kept checkpoint was written: its input and output are known by
    their whole paths. One process at a time, with a copy of ``content``."""
    with open(HOME.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(HOME, ignore_errors=True)
        if content is None:
            HOME.mkdir()
        else:
            shutil.copytree(content, HOME)
        try:
            with chdir(HOME):
                yield
        finally:
            shutil.rmtree(HOME)


def write(name: str) -> None:
    with at_home():
        prepare()
        run(fails_at=LINES[30])
        shutil.copytree(HOME, DATA / name, ignore=shutil.ignore_patterns("program-*"))


if __name__ == "__main__":
    with local_platform():
        write(sys.argv[1])
