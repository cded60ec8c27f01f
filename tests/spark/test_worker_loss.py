"""A Python worker that dies in the middle of an epoch: Spark runs its task again, and the result is what it
would have been."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from firesteel.common import Types
from firesteel.datastream import KeyedProcessFunction, MapFunction, RuntimeContext
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from tests.jobmanager.programs.sqlite_sink import SqliteSink, Transaction, lines_in, staged_in
from tests.spark.conftest import MakeEnvironment
from tests.waiting import until

pytestmark = pytest.mark.spark

RECORDS = 6000
KEYS = 23
FATAL = 3456  # in the third of the epochs of 1,200 records


def die_once(marker: Path) -> None:
    """Kill this very process; the next one that comes here goes on."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Totals(KeyedProcessFunction):
    """(key, value, sum of the key so far, values seen, last three of them)."""

    def __init__(self, marker: Path | None) -> None:
        self.marker = marker

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.INT()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, ...]]:
        if value == FATAL and self.marker is not None:
            die_once(self.marker)
        total = (self.total.value() or 0) + value
        self.total.update(total)
        self.seen.put(value, 1)
        last = [*self.last.get(), value][-3:]
        self.last.update(last)
        yield (ctx.get_current_key(), value, total, len(list(self.seen.keys())), *last)


def expected() -> Counter[tuple[int, ...]]:
    results: Counter[tuple[int, ...]] = Counter()
    for key in range(KEYS):
        values = list(range(key, RECORDS, KEYS))
        for i, value in enumerate(values):
            results[key, value, sum(values[: i + 1]), i + 1, *values[max(0, i - 2) : i + 1]] += 1
    return results


@pytest.mark.parametrize("where", ["reading", "keyed"])
def test_a_worker_is_killed_in_the_middle_of_an_epoch(
    environment: MakeEnvironment, tmp_path: Path, where: str
) -> None:
    marker = tmp_path / "died"

    def read(value: int) -> int:
        if where == "reading" and value == FATAL:
            die_once(marker)
        return value

    env = environment(2, epoch_records=600)  # of each of the two splits
    stream = env.from_sequence(0, RECORDS - 1).map(read, Types.LONG())
    keyed = stream.key_by(lambda v: v % KEYS).process(Totals(marker if where == "keyed" else None))
    results = Counter(keyed.execute_and_collect())

    assert marker.exists(), "no worker has died"
    # The two splits of the sequence meet in one key: in each key, values of a split come in order.
    assert sorted((key, value) for key, value, *_ in results.elements()) == sorted(
        (v % KEYS, v) for v in range(RECORDS)
    )
    by_key = {key: max((r for r in results if r[0] == key), key=lambda r: r[3]) for key in range(KEYS)}
    for key, (_, _, total, count, *_) in by_key.items():
        values = range(key, RECORDS, KEYS)
        assert (total, count) == (sum(values), len(values))


def test_one_path_gives_the_very_same_results(environment: MakeEnvironment, tmp_path: Path) -> None:
    """From a source with a single split nothing depends on what was run twice."""
    marker = tmp_path / "died"
    env = environment(2, epoch_records=1200)
    stream = env.from_collection(list(range(RECORDS)), Types.LONG()).key_by(lambda v: v % KEYS)
    results = Counter(stream.process(Totals(marker)).execute_and_collect())
    assert marker.exists(), "no worker has died"
    assert results == expected()


class Held(MapFunction):
    """The first attempt that gets a record says who it is, and goes on when it is told to."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def map(self, value: bytes) -> int:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0 and not (self.place / "attempt").exists():
            part = self.place / "attempt.part"
            part.write_text(str(context.taskAttemptId()))
            part.rename(self.place / "attempt")
            until(lambda: (self.place / "go on").exists())
        return len(value)


def test_an_attempt_that_spark_kills_does_not_take_a_part_of_its_input_for_all(
    environment: MakeEnvironment, spark_session: SparkSession, tmp_path: Path
) -> None:
    """Spark closes the connection to its worker, between two batches here, which ends a stream as well."""
    records = 4000
    env = environment(1, epoch_records=records, **{"firesteel.epoch.time-limit": "false"})
    database = str(tmp_path / "sink.db")
    numbers = env.from_sequence(0, records - 1).map(lambda n: b"%05d" % n * 400)
    numbers.rebalance().map(Held(tmp_path), Types.LONG()).add_sink(SqliteSink(database, "lengths"))

    def kill() -> None:
        attempt = int(until(lambda: (tmp_path / "attempt").exists() and (tmp_path / "attempt").read_text()))
        context = spark_session.sparkContext._jsc.sc()
        killed.append(context.killTaskAttempt(attempt, False, "for the test"))
        (tmp_path / "go on").touch()

    killed: list[bool] = []
    killer = Thread(target=kill)
    killer.start()
    env.execute()
    killer.join()
    assert killed == [True]
    assert lines_in(database, "lengths") == ["2000"] * records
    time.sleep(1)  # the worker of the attempt may be at it still
    assert staged_in(database, "lengths") == 0


class DiesWhenItHasStaged(SqliteSink):
    """Once. In each epoch it says how much was staged when its turn came."""

    def __init__(self, place: Path) -> None:
        super().__init__(str(place / "sink.db"), "lines")
        self.place = place

    def pre_commit(self, transaction: Transaction) -> None:
        with (self.place / "staged").open("a") as found:
            found.write(f"{staged_in(self.path, self.table)} ")
        super().pre_commit(transaction)
        die_once(self.place / "died")


def test_what_a_lost_attempt_has_staged_goes_when_its_epoch_is_committed(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    """The second attempt stages something else under another name: nobody can tell the committer of the
    first one, which must not stay until the next restart, or for ever."""

    def attempt(value: int) -> str:
        context = TaskContext.get()
        assert context is not None
        return f"{value} {context.taskAttemptId()}"

    env = environment(1, epoch_records=500)
    env.from_sequence(0, 1_999).map(attempt, Types.STRING()).add_sink(DiesWhenItHasStaged(tmp_path))
    env.execute()
    assert (tmp_path / "died").exists(), "no worker has died"
    assert sorted(int(line.split()[0]) for line in lines_in(str(tmp_path / "sink.db"), "lines")) == list(
        range(2000)
    )
    of_first, of_second, *later = (tmp_path / "staged").read_text().split()
    assert (of_first, of_second) == ("0", "1"), "the attempt that died has staged its records"
    assert set(later) == {"0"}
    assert staged_in(str(tmp_path / "sink.db"), "lines") == 0
