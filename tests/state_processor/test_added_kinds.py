"""State of a kind from outside as DataFrames: tasks of Spark read and write it, which have to learn of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from firesteel.common import Types
from firesteel.common.errors import ProgramError, StateError
from firesteel.datastream.state import StateDescriptor
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.state.kinds import KINDS
from firesteel.state_processor import SavepointWriter, read
from firesteel.testing.collecting_sink import CollectingSink
from tests.extending.first_of import FirstOf
from tests.extending.smallest import SmallestStateDescriptor
from tests.extending.test_added_state import KeepSmallest, key_of
from tests.jobmanager.checkpoint_support import RECOVERY, env_with, submit
from tests.runtime.support import At, LiveSource, SteppedClock, feed, punctuated
from tests.waiting import patience

pytestmark = pytest.mark.spark

TEXT, PAIR = Types.STRING(), Types.TUPLE([Types.STRING(), Types.LONG()])


class Job:
    """Keeps the two smallest numbers of each key, of records that differ in both."""

    def __init__(self, begin: str | None = None, parallelism: int = 2) -> None:
        self.clock = SteppedClock()
        env = env_with(parallelism, clock=self.clock, **({} if begin is None else {RECOVERY: begin}))
        self.sink = CollectingSink()
        source = env.from_source(LiveSource("s", 1), punctuated(), "live").uid("live")
        pairs = source.map(lambda record: record.value, PAIR)
        once = pairs.key_by(str, TEXT).transform("first of", PAIR, FirstOf(1000)).uid("once")
        once.key_by(key_of, TEXT).process(KeepSmallest()).uid("keep").sink_to(self.sink)
        self.running = submit(env)
        self.clock.settle()

    def give(self, *pairs: tuple[str, int]) -> None:
        feed("s", *((At(0, pair), 0) for pair in pairs))
        self.clock.tick()

    def stop(self, directory: Path) -> str:
        path = self.running.savepoint(SavepointRequest(str(directory), stop=True)).result(patience(20))
        assert self.running.wait(patience(10))
        return path

    def end(self) -> None:
        self.running.cancel()
        assert self.running.wait(patience(10))


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    job = Job()
    job.give(("a", 3), ("a", 2), ("b", 7), ("a", 2), ("a", 1))
    return job.stop(tmp_path / "of a job")


def pairs(frame: Any) -> dict[str, Any]:
    return {row["key"]: row["value"] for row in frame.collect()}


def test_a_savepoint_is_restored_with_another_parallelism(savepoint: str) -> None:
    job = Job(savepoint, parallelism=3)
    job.give(("a", 2), ("b", 8), ("a", 0))
    assert sorted(job.sink.values) == [("a", (0, 1)), ("b", (7, 8))], "('a', 2) was there before"
    job.end()


def test_it_is_a_table(spark: SparkSession, savepoint: str) -> None:
    reader = read(savepoint, spark, parts=2)
    info = next(state for state in reader.states() if state.name == "low")
    assert (info.kind, info.type_info) == ("smallest", Types.LIST(Types.LONG()))
    assert pairs(reader.keyed_state("keep", "low")) == {"a": [1, 2], "b": [7]}
    assert pairs(reader.keyed_state("once", "seen")) == {
        str(pair): True for pair in [("a", 3), ("a", 2), ("b", 7), ("a", 1)]
    }


def test_it_is_written_from_a_table(spark: SparkSession, savepoint: str, target: str) -> None:
    frame = spark.createDataFrame([("a", [5, 4]), ("c", [9])], "key string, value array<long>")
    writer = SavepointWriter.from_existing_savepoint(savepoint, spark).remove_operator("keep")
    writer.with_keyed_state("keep", SmallestStateDescriptor("low", 2), frame, key_type=TEXT).write(target)
    assert pairs(read(target, spark, parts=1).keyed_state("keep", "low")) == {"a": [4, 5], "c": [9]}
    job = Job(target)
    job.give(("c", 1))
    assert job.sink.values == [("c", (1, 9))]
    job.end()


def test_a_kind_that_is_not_there_is_told(
    spark: SparkSession, savepoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(KINDS._homes, "smallest")
    monkeypatch.delitem(KINDS._records, "smallest")
    reader = read(savepoint, spark)
    assert "smallest" in [state.kind for state in reader.states()]
    with pytest.raises(
        StateError, match="stored as a smallest state, a kind that is not known here"
    ) as caught:
        reader.keyed_state("keep", "low")
    assert "import the module that registers the kind" in str(caught.value)


def test_state_of_the_engine_is_not_written(spark: SparkSession, savepoint: str) -> None:
    class Timers(StateDescriptor):
        kind = "broadcast"

    frame = spark.createDataFrame([("a", [5])], "key string, value array<long>")
    writer = SavepointWriter.from_existing_savepoint(savepoint, spark).remove_operator("keep")
    with pytest.raises(ProgramError, match="A broadcast state cannot be written"):
        writer.with_keyed_state("keep", Timers("low", Types.LONG()), frame, key_type=TEXT)
