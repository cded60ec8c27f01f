"""The contract finds what is wrong with a connector: each of these is broken in one way."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.connectors import (
    Boundedness,
    Chunk,
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    EnumeratorContext,
    ReadRange,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
    WriterContext,
)
from firesteel.testing.connectors import SinkContract, SinkPromise, SourceContract, _reading

# ---- a source of numbers with a defect


@dataclass(frozen=True)
class Numbers(Source):
    """Two splits of numbers below ``below``; ``defect`` names what is wrong with it."""

    defect: str = ""
    below: int = 20

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Enumerator(self)

    def create_reader(self) -> SourceReader:
        return _Reader(self)


class _Enumerator(SplitEnumerator):
    def __init__(self, source: Numbers) -> None:
        self._source = source
        self._names = ["even", "odd"]
        self._round = 0

    def discover(self, now_ms: int) -> list[Split]:
        found = [Split(name + "'" * self._round, name) for name in self._names]
        if self._source.defect == "one split twice":
            found += found[:1]
        if self._source.defect != "never finished":
            self._names = []
        return found

    @property
    def finished(self) -> bool:
        return not self._names

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        if self._source.defect == "greedy":
            max_records = 1000
        return ReadRange(split, position, max_records, max_bytes)

    def snapshot(self) -> Any:
        return self._names

    def restore(self, state: Any) -> None:
        self._names = state
        if self._source.defect == "renames":
            self._names, self._round = ["even", "odd"], 1


class _Reader(SourceReader):
    def __init__(self, source: Numbers) -> None:
        self._source = source
        self._reads = 0

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        defect = self._source.defect
        at = range_.position or 0
        self._reads += 1
        mine = range(0 if range_.split.payload == "even" else 1, self._source.below, 2)
        stop = min(at + range_.max_records, len(mine))
        if defect == "reads too much":
            stop = len(mine)
        while at < stop or stop == len(mine):
            values: list[Any] = list(mine[at : min(at + 3, stop)])
            if defect == "drops" and values == [6]:
                values = []
            if defect == "depends on time":
                values = [(v, time.monotonic_ns()) for v in values]
            if defect == "remembers" and self._reads > 4:
                values = [-1 for _ in values]
            at = min(at + 3, stop)
            position = at - 1 if defect == "wrong position" and at == 6 else at
            stamps = [0] if defect == "timestamps" else None
            end = at >= len(mine) and defect != "no end"
            yield Chunk(values, stamps, _code if defect == "no plain data" else position, end)
            if at >= stop:
                return


def _code() -> None: ...


_code.__qualname__ = "somewhere else"  # pickle cannot find it


class NumbersContract(SourceContract):
    defect = ""

    def produce(self, directory: Path, portion: int) -> list[Any]:
        return list(range(20))

    def make_source(self, directory: Path) -> Numbers:
        return Numbers(self.defect)


TESTS_OF_SOURCES = [name for name in vars(SourceContract) if name.startswith("test_")]
TESTS_OF_SINKS = [name for name in vars(SinkContract) if name.startswith("test_")]


def failures(contract: Any, tests: Sequence[str], tmp_path: Path) -> dict[str, str]:
    found = {}
    for name in tests:
        directory = tmp_path / name
        directory.mkdir()
        try:
            getattr(contract, name)(directory)
        except Exception as e:
            found[name] = f"{e}"
    return found


def test_a_sound_source_passes(tmp_path: Path) -> None:
    assert failures(NumbersContract(), TESTS_OF_SOURCES, tmp_path) == {}


@pytest.mark.parametrize(
    ("defect", "said"),
    [
        ("one split twice", "same id"),
        ("never finished", "nothing more came"),
        ("greedy", "plan() allows 1000"),
        ("renames", "too many are"),
        ("reads too much", "the range allows"),
        ("drops", "lost are"),
        ("depends on time", "when it is read again"),
        ("remembers", "lost are"),
        ("wrong position", "too many are"),
        ("timestamps", "one int for each record"),
        ("no plain data", "pickle"),
        ("no end", "nothing more came"),
    ],
)
def test_a_source_with_a_defect_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: str, said: str
) -> None:
    monkeypatch.setattr(_reading, "PATIENCE_S", 0.2)
    contract = NumbersContract()
    contract.defect = defect
    found = failures(contract, [t for t in TESTS_OF_SOURCES if "job" not in t], tmp_path)
    assert any(said in sentence for sentence in found.values()), found


# ---- a sink into a file with a defect


@dataclass(frozen=True)
class Lines(Sink):
    """A JSON list for each transaction, in a file that is renamed when it is committed."""

    directory: str
    defect: str = ""

    @property
    def promise(self) -> SinkPromise:
        weak = self.defect == "no committer"
        return SinkPromise.AT_LEAST_ONCE if weak else SinkPromise.EXACTLY_ONCE

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _LineWriter(self, context)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return None if self.defect == "no committer" else _LineCommitter(self)


class _LineWriter(SinkWriter):
    def __init__(self, sink: Lines, context: WriterContext) -> None:
        self._sink = sink
        self._context = context
        self._values: list[Any] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._values += values
        if self._sink.defect == "writes at once":
            self._publish(f"{time.monotonic_ns()}")

    def _publish(self, name: str) -> None:
        Path(self._sink.directory, name).write_text(json.dumps(self._values))

    def prepare_commit(self) -> list[Any]:
        defect, name = self._sink.defect, self._context.transaction_id
        if defect == "a name for each attempt":
            name += self._context.attempt_token
        if defect == "the same name again":
            name = f"{self._context.epoch}-{self._context.subtask_index}"
        if defect == "no committer":
            self._publish(name)
            return []
        values = self._values[1:] if defect == "loses one" else self._values
        Path(self._sink.directory, f".{name}").write_text(json.dumps(values))
        return [name]


class _LineCommitter(Committer):
    def __init__(self, sink: Lines) -> None:
        self._directory = Path(sink.directory)
        self._defect = sink.defect

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            if self._defect == "commits the new alone" and request.recovered:
                continue
            staged = self._directory / f".{request.get_committable()}"
            target = self._directory / request.get_committable()
            if self._defect == "commits twice" and target.exists():
                target = target.with_name(f"{target.name} again")
            if self._defect == "never commits":
                request.retry_later()
            elif self._defect == "fails when it comes again":
                staged.rename(target)
            elif staged.exists():
                target.write_bytes(staged.read_bytes())

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable]) -> None:
        if self._defect == "drops what it should keep":
            for committable in kept:
                (self._directory / f".{committable.payload}").unlink(missing_ok=True)


class LinesContract(SinkContract):
    defect = ""

    def make_sink(self, directory: Path) -> Lines:
        (directory / "out").mkdir(exist_ok=True)
        return Lines(str(directory / "out"), self.defect)

    def read(self, directory: Path) -> list[Any]:
        shown = [path for path in (directory / "out").iterdir() if path.name[0] != "."]
        return [value for path in shown for value in json.loads(path.read_text())]


def test_a_sound_sink_passes(tmp_path: Path) -> None:
    assert failures(LinesContract(), TESTS_OF_SINKS, tmp_path) == {}


@pytest.mark.parametrize(
    ("defect", "test", "said"),
    [
        ("writes at once", "test_nothing_is_seen", "an outsider sees"),
        ("a name for each attempt", "test_attempts", "different committables"),
        ("loses one", "test_nothing_is_seen", "lost are"),
        ("commits twice", "test_a_commit_may_come_again", "more often than once"),
        ("never commits", "test_a_sink_is", "asked for more time"),
        ("fails when it comes again", "test_a_commit_may_come_again", "No such file"),
        ("commits the new alone", "test_what_a_lost_driver_staged", "lost are"),
        ("the same name again", "test_a_job_whose_drivers_are_killed", "lost are"),
        ("drops what it should keep", "test_a_job_whose_drivers_are_killed", "lost are"),
        ("no committer", "test_a_job_whose_drivers_are_killed", "more often than once"),
    ],
)
def test_a_sink_with_a_defect_is_found_out(tmp_path: Path, defect: str, test: str, said: str) -> None:
    contract = LinesContract()
    contract.defect = defect
    (name,) = [t for t in TESTS_OF_SINKS if t.startswith(test)]
    found = failures(contract, [name], tmp_path)
    assert said in found.get(name, "it passes"), found


def test_a_weaker_promise_is_kept_by_a_sink_without_a_committer(tmp_path: Path) -> None:
    contract = LinesContract()
    contract.defect = "no committer"
    contract.promise = SinkPromise.AT_LEAST_ONCE
    assert failures(contract, TESTS_OF_SINKS, tmp_path) == {}


def test_a_sink_that_promises_more_than_its_contract_is_found_out(tmp_path: Path) -> None:
    contract = LinesContract()
    contract.promise = SinkPromise.AT_LEAST_ONCE
    name = "test_a_sink_is_plain_data"
    found = failures(contract, [name], tmp_path)
    assert "promises more than is tested here: exactly once, not at least once" in found.get(name, ""), found
