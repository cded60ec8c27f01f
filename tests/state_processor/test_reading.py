"""Savepoints as DataFrames: what is read is what the job has kept."""

from __future__ import annotations

import decimal
import pickle
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from firesteel.common import Types
from firesteel.common.errors import FiresteelError
from firesteel.common.time import Time
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.state_processor import (
    KeyedStateReaderFunction,
    OperatorIdentifier,
    SavepointReader,
    WindowReaderFunction,
    read,
)
from tests.jobmanager.programs.kept import DATA, KEYS, READ, RECORDS, RULES, Average

pytestmark = pytest.mark.spark

LONG, TEXT = Types.LONG(), Types.STRING()
GIVEN = RECORDS[:READ]
TEN = Time.seconds(10)


def numbers(key: str) -> list[int]:
    return [n for _, k, n in GIVEN if k == key]


def pairs(frame: DataFrame) -> dict[Any, Any]:
    rows = frame.collect()
    assert len({row["key"] for row in rows}) == len(rows), "one row for each key"
    return {row["key"]: row["value"] for row in rows}


@pytest.fixture(scope="module")
def reader(spark: SparkSession, kept: str) -> SavepointReader:
    return read(kept, spark, parts=3)


@pytest.mark.row("S-SAVE-12")
def test_typed_columns_are_what_the_job_has_kept(reader: SavepointReader) -> None:
    expected = {
        "value": {key: len(numbers(key)) for key in KEYS},
        "reducing": {key: sum(numbers(key)) for key in KEYS},
        "list": {key: [f"{key}-{n}" for n in numbers(key)] for key in KEYS},
        "ttl value": {key: f"at {numbers(key)[-1]}" for key in KEYS},
        "ttl list": {key: numbers(key) for key in KEYS},
        "map": {key: {f"m{n % 2}": n for n in numbers(key)} for key in KEYS},
        "ttl map": {key: {f"t{n % 2}": n for n in numbers(key)} for key in KEYS},
    }
    for name, content in expected.items():
        frame = reader.keyed_state("kinds", name)
        assert frame.columns == ["key", "value"]
        assert pairs(frame) == content, name
    rows = {key: tuple(row) for key, row in pairs(reader.keyed_state("kinds", "row")).items()}
    last = {key: numbers(key)[-1] for key in KEYS}
    assert rows == {key: (key, date(2024, 1, 1 + n), decimal.Decimal(n) / 4) for key, n in last.items()}


def test_any_object_is_its_pickle_and_its_text(reader: SavepointReader) -> None:
    """The rule for what has no declared type."""
    frame = reader.keyed_state("kinds", "object")
    assert frame.columns == ["key", "value", "value_text"]
    for row in frame.collect():
        held = {"numbers": {numbers(row["key"])[-1]}, "key": row["key"]}
        assert pickle.loads(row["value"]) == held
        assert row["value_text"] == repr(held)
    typed = reader.keyed_state("kinds", "average", value_type=Types.TUPLE([LONG, LONG]))
    assert {k: tuple(v) for k, v in pairs(typed).items()} == {
        key: (sum(numbers(key)), len(numbers(key))) for key in KEYS
    }


def test_timers_and_operator_state(reader: SavepointReader) -> None:
    timers = {(r["key"], r["domain"], r["timestamp"]) for r in reader.timers("kinds").collect()}
    domains = (("EVENT_TIME", 100_000), ("PROCESSING_TIME", 10**15))
    assert timers == {(key, domain, at) for key in KEYS for domain, at in domains}
    split = reader.list_state("lists", "split", value_type=LONG).collect()
    assert sorted(row["value"] for row in split) == [n for _, _, n in GIVEN]
    for subtask in {row["subtask"] for row in split}:
        of_one = [row["value"] for row in split if row["subtask"] == subtask]
        assert of_one == sorted(of_one), "in the order of their positions"
    union = reader.union_state("lists", "union", value_type=LONG).collect()
    assert {row["value"] for row in union} == {n for _, _, n in GIVEN}
    restored = reader.read_union_state("lists", "union", LONG).collect()
    assert sorted(row["value"] for row in restored) == sorted(row["value"] for row in union)
    assert pairs(reader.broadcast_state("rules", "rules")) == dict(RULES)
    assert pairs(reader.read_broadcast_state("rules", "rules", TEXT, LONG)) == dict(RULES)
    assert reader.read_list_state("lists", "split", LONG).columns == ["value"]


def windows_of(size_ms: int, slide_ms: int) -> dict[tuple[str, int, int], list[int]]:
    """The windows that are open when event time has come to the last record that was read."""
    found: dict[tuple[str, int, int], list[int]] = {}
    for ts, key, n in GIVEN:
        for start in range(ts - ts % slide_ms, ts - size_ms, -slide_ms):
            found.setdefault((key, start, start + size_ms), []).append(n)
    watermark = GIVEN[-1][0] - 1
    return {window: content for window, content in found.items() if window[2] - 1 > watermark}


def windows(frame: DataFrame, value: Any = lambda v: v) -> dict[tuple[str, int, int], Any]:
    found: dict[tuple[str, int, int], Any] = {}
    for row in frame.collect():
        found.setdefault((row["key"], row["window_start"], row["window_end"]), []).append(value(row["value"]))
    return found


def test_windows(reader: SavepointReader) -> None:
    ten = reader.window(TumblingEventTimeWindows.of(TEN))
    open_ten = windows_of(10_000, 10_000)
    element = lambda data: pickle.loads(data)[2]  # noqa: E731
    sums = {window: [sum(content)] for window, content in open_ten.items()}
    assert windows(ten.reduce("panes", max), element) == sums
    assert windows(ten.process("window list"), element) == open_ten
    assert windows(ten.evictor().process("evicting"), element) == open_ten
    averages = windows(ten.aggregate("late", Average(), output_type=Types.DOUBLE()))
    assert averages == {window: [sum(c) / len(c)] for window, c in open_ten.items()}
    sliding = reader.window(SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(30)))
    found = windows(sliding.aggregate("sliding", Average(), output_type=Types.DOUBLE()))
    assert found == {window: [sum(c) / len(c)] for window, c in windows_of(60_000, 30_000).items()}
    gap = reader.window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    last = {key: [ts for ts, k, _ in GIVEN if k == key] for key in KEYS}
    sessions = {(key, stamps[0], stamps[-1] + 5_000): numbers(key) for key, stamps in last.items()}
    assert windows(gap.process("merging"), element) == sessions
    found = windows(gap.aggregate("sessions", Average(), output_type=Types.DOUBLE()))
    assert found == {window: [sum(content) / len(content)] for window, content in sessions.items()}


class Everything(KeyedStateReaderFunction):
    """The value, the length of the list and the timers of each key."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", LONG))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", TEXT))

    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        timers = ctx.registered_event_time_timers() + ctx.registered_processing_time_timers()
        yield key, self.value.value(), len(list(self.list.get())), timers
        self.value.clear()  # and nothing becomes of it


class OfWindows(WindowReaderFunction):
    def open(self, runtime_context: Any) -> None:
        self.fired = ValueStateDescriptor("fired", LONG)

    def read_window(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
        fired = context.global_state().get_state(self.fired).value()
        timers = context.registered_event_time_timers()
        yield key, context.window().max_timestamp(), len(elements), fired, timers


def test_functions_read_as_in_flink(reader: SavepointReader) -> None:
    types = Types.TUPLE([TEXT, LONG, LONG, Types.LIST(LONG)])
    frame = reader.read_keyed_state("kinds", Everything(), types)
    assert frame.columns == ["f0", "f1", "f2", "f3"]
    counts = {key: len(numbers(key)) for key in KEYS}
    expected = sorted((key, n, n, [100_000, 10**15]) for key, n in counts.items())
    assert sorted(map(tuple, frame.collect())) == expected
    assert sorted(map(tuple, frame.collect())) == expected
    types = Types.TUPLE([TEXT, LONG, LONG, LONG, Types.LIST(LONG)])
    ten = reader.window(TumblingEventTimeWindows.of(TEN))
    found = sorted(map(tuple, ten.process("window list", OfWindows(), output_type=types).collect()))
    open_ten = sorted(windows_of(10_000, 10_000).items())
    assert found == [(key, end - 1, len(c), 1, [end - 1]) for (key, _, end), c in open_ten]


def test_an_older_savepoint_is_read_with_types_that_are_given(spark: SparkSession) -> None:
    """The first format did not record them."""
    old = read(str(DATA / "savepoint-0.1.0"), spark, parts=2)
    values = old.keyed_state("kinds", "value", key_type=TEXT, value_type=LONG)
    assert pairs(values.drop("window")) == {key: len(numbers(key)) for key in KEYS}
    assert old.keyed_state("kinds", "value").columns == ["key", "key_text", "window", "value", "value_text"]
    assert {row["key_text"] for row in old.timers("kinds").collect()} == set(KEYS)


@pytest.mark.row("S-BACK-14")
def test_what_is_there(reader: SavepointReader) -> None:
    states = {(info.uid, info.name): info for info in reader.states()}
    assert states["kinds", "list"].type_info == Types.LIST(TEXT)
    assert states["kinds", "list"].key_type == TEXT
    assert states["kinds", "ttl value"].has_ttl
    assert states["rules", "rules"].kind == "broadcast"
    by_id = OperatorIdentifier.for_uid_hash(states["kinds", "list"].operator_id)
    assert reader.keyed_state(by_id, "value").count() == len(KEYS)


def test_misuse_says_what_to_do(reader: SavepointReader, spark: SparkSession, tmp_path: Path) -> None:
    for ask, text in (
        (lambda: reader.keyed_state("nobody", "value"), "nobody"),
        (lambda: reader.keyed_state("kinds", "nothing"), "'value' .value."),
        (lambda: reader.keyed_state("rules", "rules"), "broadcast state"),
        (lambda: reader.list_state("kinds", "list"), "list state"),
        (lambda: reader.keyed_state("kinds", "value", value_type=TEXT), "Long, not String"),
        (lambda: reader.read_keyed_state("kinds", max), "KeyedStateReaderFunction"),  # type: ignore[arg-type]
        (lambda: reader.window(TumblingEventTimeWindows.of(TEN)).reduce("window list", max), "list state"),
        (lambda: read(str(tmp_path), spark), "no checkpoint or savepoint"),
        (lambda: OperatorIdentifier.for_uid_hash("x"), "32 hexadecimal"),
        (lambda: read(str(DATA / "savepoint-0.1.0"), spark, parts=0), "at least 1"),
    ):
        with pytest.raises(FiresteelError, match=text):
            ask()


class WrongType(KeyedStateReaderFunction):
    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", TEXT))

    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        yield self.value.value()


def test_damage_and_other_types_are_found_in_the_tasks(
    reader: SavepointReader, spark: SparkSession, kept: str, tmp_path: Path
) -> None:
    import shutil

    with pytest.raises(Exception, match=r"stored as Long and is now declared as String"):
        reader.read_keyed_state("kinds", WrongType()).collect()
    copy = tmp_path / "copy"
    shutil.copytree(kept, copy)
    kinds = OperatorIdentifier.for_uid("kinds").id
    for run in copy.glob(f"state-*-{kinds}-*.run"):
        data = bytearray(run.read_bytes())
        data[len(data) // 3] ^= 1
        run.write_bytes(data)
    with pytest.raises(Exception, match=r"damaged"):
        read(str(copy), spark).keyed_state("kinds", "value").collect()
    run.unlink()
    with pytest.raises(FiresteelError, match="missing"):
        read(str(copy), spark)
