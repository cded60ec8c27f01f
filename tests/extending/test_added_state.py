"""A kind of state from outside does all that Firesteel's own kinds do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ProgramError, StateError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import MapStateDescriptor, StateDescriptor, StateTtlConfig
from firesteel.datastream.window import EventTimeSessionWindows, Trigger, TriggerResult
from firesteel.program.registry import Added
from firesteel.runtime.kinds import AddedKinds, added_kinds, adopt_kinds
from firesteel.state.kinds import KINDS, Place, StateKind
from firesteel.state.rows import operator_rows
from firesteel.testing import OperatorHarness

from .smallest import SmallestState, SmallestStateDescriptor


class KeepSmallest(KeyedProcessFunction):
    """A record is (key, number)."""

    def __init__(self, count: int = 2, ttl_ms: int = 0) -> None:
        self.descriptor = SmallestStateDescriptor("low", count)
        if ttl_ms:
            config = StateTtlConfig.new_builder(Time.milliseconds(ttl_ms)).build()
            self.descriptor.enable_time_to_live(config)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.low: SmallestState = runtime_context.get_partitioned_state(self.descriptor)

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.low.add(value[1])
        yield value[0], tuple(self.low.get())


def key_of(record: tuple[str, int]) -> str:
    return record[0]


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind is not there, as in a process that has not imported it."""
    monkeypatch.delitem(KINDS._homes, "smallest")
    monkeypatch.delitem(KINDS._records, "smallest")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_function_keeps_it_by_key(processes: int) -> None:
    harness = OperatorHarness(KeepSmallest(), key_by=key_of, processes=processes)
    for record in [("a", 5), ("b", 7), ("a", 3), ("a", 4)]:
        harness.process_element(record)
    assert harness.values == [("a", (5,)), ("b", (7,)), ("a", (3, 5)), ("a", (3, 4))]
    assert harness.state("low", "a") == [3, 4], "by its name"
    assert harness.state(SmallestStateDescriptor("low", 2), "b") == [7]
    assert harness.keys("low") == ["a", "b"]
    assert harness.num_keyed_state_entries() == 2


def test_it_is_restored_with_another_parallelism() -> None:
    harness = OperatorHarness(KeepSmallest(), key_by=key_of, parallelism=2)
    keys = [f"key {n}" for n in range(20)]
    for number, key in enumerate(keys):
        harness.process_element((key, number))
    again = OperatorHarness(KeepSmallest(), key_by=key_of, parallelism=3, restore=harness.snapshot())
    for key in keys:
        again.process_element((key, -1))
    assert sorted(again.values) == sorted((key, (-1, number)) for number, key in enumerate(keys))


def test_it_expires() -> None:
    harness = OperatorHarness(KeepSmallest(ttl_ms=10), key_by=key_of)
    harness.process_element(("a", 5))
    harness.set_processing_time(9)
    assert harness.state(SmallestStateDescriptorWithTtl(), "a") == [5]
    harness.set_processing_time(19)
    harness.process_element(("a", 8))
    assert harness.values[-1] == ("a", (8,))


def SmallestStateDescriptorWithTtl() -> SmallestStateDescriptor:
    return KeepSmallest(ttl_ms=10).descriptor


def test_a_name_belongs_to_one_kind_of_state() -> None:
    class Both(KeepSmallest):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            runtime_context.get_map_state(MapStateDescriptor("low", Types.STRING(), Types.LONG()))

    with pytest.raises(Exception, match="State 'low' is a smallest state, it cannot be used as a map state"):
        OperatorHarness(Both(), key_by=key_of)


def test_a_stored_state_stays_of_its_kind() -> None:
    class Another(KeepSmallest):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_map_state(MapStateDescriptor("low", Types.STRING(), Types.LONG()))

    harness = OperatorHarness(KeepSmallest(), key_by=key_of)
    harness.process_element(("a", 5))
    with pytest.raises(Exception, match="stored as a smallest state and is now asked for as a map state"):
        OperatorHarness(Another(), key_by=key_of, restore=harness.snapshot())


class SmallestTrigger(Trigger[Any, Any]):
    """Fires each element with what it keeps of the window; its state merges with sessions."""

    low = SmallestStateDescriptor("low", 3)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(self.low)
        state.add(element[1])
        return TriggerResult.FIRE if state.get() == [1, 2, 3] else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.low)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.low).clear()


def test_triggers_keep_it_and_merging_windows_merge_it() -> None:
    def sessions(stream: DataStream) -> DataStream:
        windows = stream.key_by(key_of).window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
        return windows.trigger(SmallestTrigger()).reduce(lambda a, b: (a[0], a[1] + b[1]))

    harness = OperatorHarness(sessions)
    for number, at in [(1, 0), (3, 16), (2, 8)]:  # the last one makes one session of two
        harness.process_element(("a", number), at)
    assert harness.values == [("a", 6)]


# ---- what is not there


def test_a_kind_that_nobody_has_registered_cannot_be_asked_for() -> None:
    class NobodysDescriptor(StateDescriptor):
        kind = "nobody's"

    class Nobodys(KeepSmallest):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_partitioned_state(NobodysDescriptor("low", Types.LONG()))

    with pytest.raises(Exception, match='There is no kind of state "nobody\'s"') as caught:
        OperatorHarness(Nobodys(), key_by=key_of)
    assert "known are aggregating, broadcast, " in str(caught.value)
    assert "import the module that registers it" in str(caught.value)


def test_a_descriptor_that_names_no_kind_is_refused() -> None:
    class Unnamed(KeepSmallest):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_partitioned_state(StateDescriptor("low", Types.LONG()))

    with pytest.raises(Exception, match="There is no kind of state ''"):
        OperatorHarness(Unnamed(), key_by=key_of)


def test_a_snapshot_with_an_unknown_kind_is_not_restored(request: pytest.FixtureRequest) -> None:
    harness = OperatorHarness(KeepSmallest(), key_by=key_of, parallelism=2)
    harness.process_element(("a", 5))
    snapshot = harness.snapshot()
    request.getfixturevalue("unknown")
    with pytest.raises(StateError, match="State 'low' is stored as a smallest state") as caught:
        OperatorHarness(KeepSmallest(), key_by=key_of, parallelism=3, restore=snapshot)
    assert caught.value.uid is not None
    assert "import the module that registers the kind" in str(caught.value)


def test_state_of_the_engine_cannot_be_asked_for() -> None:
    class Timers(StateDescriptor):
        kind = "timers"

    class Wrong(KeepSmallest):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_partitioned_state(Timers("low", Types.LONG()))

    with pytest.raises(Exception, match="A timers state cannot be asked for"):
        OperatorHarness(Wrong(), key_by=key_of)


def test_what_knows_no_time_to_live_is_refused_one() -> None:
    class Broadcast(StateDescriptor):
        kind = "broadcast"

    descriptor = Broadcast("low", Types.MAP(Types.LONG(), Types.LONG()))
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())

    class Wrong(KeepSmallest):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_partitioned_state(descriptor)

    with pytest.raises(Exception, match="State 'low' cannot have a time to live"):
        OperatorHarness(Wrong(), key_by=key_of)


def test_a_kind_without_keys_says_how_it_is_dealt_out() -> None:
    with pytest.raises(ProgramError, match="Just a kind of state that belongs to no key"):
        StateKind(name="halved", place=Place.OPERATOR, rows=operator_rows)


# ---- other processes

READER = """
import pickle, sys
from firesteel.runtime.kinds import adopt_kinds
from firesteel.state.kinds import KINDS
sys.path += sys.argv[2:]
adopt_kinds(pickle.loads(open(sys.argv[1], "rb").read()))
assert "tests.extending.smallest" not in sys.modules, "nobody has met the kind yet"
print(KINDS.named("smallest").handles.descriptor.__name__)
"""


def read_in_a_fresh_process(tmp_path: Path, *paths: Any) -> subprocess.CompletedProcess[str]:
    import pickle

    parcel = tmp_path / "kinds"
    parcel.write_bytes(pickle.dumps(added_kinds()))
    command = [sys.executable, "-c", READER, str(parcel), *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_a_fresh_process_imports_the_module_when_it_meets_the_kind(tmp_path: Path) -> None:
    done = read_in_a_fresh_process(tmp_path, Path(__file__).parents[2])
    assert done.stdout.strip() == "SmallestStateDescriptor", done.stderr


def test_a_process_that_cannot_import_it_says_so(tmp_path: Path) -> None:
    done = read_in_a_fresh_process(tmp_path)
    assert "The kind of state 'smallest' cannot be loaded." in done.stderr
    assert "the module tests.extending.smallest registers it and cannot be imported here" in done.stderr
    assert "env.add_python_file" in done.stderr


def test_what_a_script_registers_comes_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    record = KINDS.named("smallest")
    added = [AddedKinds(KINDS.what, (Added("of the script", "__main__", record),))]
    monkeypatch.setattr(KINDS, "_homes", dict(KINDS._homes))
    monkeypatch.setattr(KINDS, "_records", dict(KINDS._records))
    adopt_kinds(added)
    assert KINDS.named("of the script") is record
    assert added[0].kinds[0] in KINDS.added(), "and goes on from there"
