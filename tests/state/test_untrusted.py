"""What a snapshot of others may hold, and what it may not."""

from __future__ import annotations

import datetime as dt
import decimal
import importlib
import os
import pickle
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firesteel.common import accumulators
from firesteel.common.errors import StateError
from firesteel.common.job_id import JobID
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.base import Split
from firesteel.connectors.files.part_files import FileChunks
from firesteel.connectors.kafka.dynamic import DynamicSplit
from firesteel.connectors.kafka.source import PartitionSplit
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.jobmanager.checkpoints.results import JobResult, encode_result
from firesteel.jobmanager.checkpoints.storage import read_manifest
from firesteel.runtime import metrics
from firesteel.state import catalog
from firesteel.state.files import StateFiles
from firesteel.state.keys import encode_key
from firesteel.state.line import DeltaRef, RunRef, StateLine
from firesteel.state.manifest import Manifest, OperatorEntry, SubtaskEntry, VertexEntry
from firesteel.state.runs import encode_run
from firesteel.state.untrusted import ALLOWED, class_in_key, foreign_in, require_plain
from firesteel.state_processor import SavepointReader, SavepointWriter
from firesteel.storage import records
from tests.runtime.support import LiveSource, environment, local_platform
from tests.waiting import patience, until

ran: list[str] = []


def is_concrete(kind: Any) -> bool:
    """Whether this is an accumulator that users make."""
    public = isinstance(kind, type) and kind.__name__ in accumulators.__all__
    return public and not getattr(kind, "_is_protocol", False)


def run_it(*args: Any) -> Any:
    ran.append("code")
    return args


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return run_it, ()


class OnlyBuilt:
    """Names a class and calls nothing."""


EVIL = [
    pickle.dumps(Evil(), 5),
    pickle.dumps(Evil(), 2),
    b"\x80\x00" + pickle.dumps(Evil(), 0),
    pickle.dumps([1, {"a": (Evil(),)}], 5),
    pickle.dumps(pickle.dumps(Evil(), 5), 5),
    b"12345678" + pickle.dumps(Evil(), 5),
    msgspec.msgpack.encode([1, pickle.dumps(Evil(), 4)]),
    pickle.dumps(OnlyBuilt(), 5),
    pickle.dumps(os.system, 5),
    b"\x80\x04cbuiltins\neval\n(S'1'\ntR.",
    b"\x80\x04cdatetime\nsys.modules\n.",  # what a module of the list has imported
    b"\x80\x04\x8c\x08datetime\x8c\x03sys\x93.",
    pickle.dumps(Evil(), 2)[:-1],  # runs before it is found to be cut off
]
PLAIN = [
    None, 1 << 80, "text", b"bytes", [1, {"a": {2}}], (1.5, True), dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    dt.date(2024, 1, 1), dt.timedelta(1), decimal.Decimal("1.5"), uuid.UUID(int=1), Row(1, "a"),
    frozenset((1,)), bytearray(b"x"), 1j,
]  # fmt: skip


@pytest.mark.parametrize("data", EVIL)
def test_what_names_something_else_is_found_and_does_not_run(data: bytes) -> None:
    ran.clear()
    assert foreign_in(data)
    assert not ran


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_data_passes(value: Any) -> None:
    assert foreign_in(pickle.dumps(value, 5)) is None
    assert foreign_in(b"prefix" + pickle.dumps(value, 5)) is None
    assert class_in_key(b"\0\1\0\0" + encode_key("t")) is None


def test_the_list_names_classes_where_they_are_now() -> None:
    """What a pickle names is where a class is defined: one that has moved would be refused."""
    for module, names in ALLOWED.items():
        for name in names:
            found = getattr(importlib.import_module(module), name)
            assert (found.__module__, found.__qualname__) == (module, name)


class Key:
    def __init__(self, name: str) -> None:
        self.name = name


def test_keys_that_name_classes_are_found() -> None:
    for key in (Key("a"), ("x", Key("a")), Key, catalog.Step("", False, b"", 1)):
        assert class_in_key(encode_key(key)), key
    for plain in ("a", ("eNCc", 1), "concerns", b"cNs", 5, dt.date(2024, 1, 1)):
        assert class_in_key(encode_key(plain)) is None, plain


def manifest_with(tmp_path: Path, entries: dict[bytes, bytes] | None = None, **parts: Any) -> Manifest:
    line = StateLine()
    if entries:
        keys = sorted(entries)
        data, digest = encode_run(keys, [entries[key] for key in keys])
        (tmp_path / "a.run").write_bytes(data)
        ref = RunRef(str(tmp_path / "a.run"), 0, len(data), digest, len(keys), 0, (1 << 16) - 1)
        line = StateLine("m", "", (), (DeltaRef("m", ref),))
    carry = parts.pop("carry", None)
    operators = (OperatorEntry("o", "operator", "my-uid"),)
    vertex = VertexEntry("v", "vertex", 128, operators, (SubtaskEntry(line, carry),))
    whole: dict[str, Any] = {"id": 1, "savepoint": True, "job_id": "j", "job_name": "n", "claim": "1-a"}
    whole |= {"triggered_ms": 0, "epoch": 1, "now_ms": 0, "topology": "", "vertices": (vertex,)}
    return Manifest(**whole, **{"sources": {}, "sinks": {}, **parts})


COLUMN = catalog.CATALOG_PREFIX + b"col1"
ENTRY = catalog.CatalogEntry("o", "seen", "value", False)
NAMED = {COLUMN: catalog.encode(ENTRY), b"\0\1col1key": pickle.dumps(Evil(), 5)}
LOADING = {"bootstrap.servers": "h:1", "plugin.library.paths": "plugin.so"}
DYNAMIC = Split("one", DynamicSplit("c", LOADING, Split("t-0", PartitionSplit("t", 0, 0, None)), 0))
STEP = catalog.Step("", False, pickle.dumps(Evil(), 5), 1)


@pytest.mark.parametrize(
    ("entries", "parts", "named"),
    [
        (None, {"sources": {"o": pickle.dumps(Evil(), 5)}}, "source 'my-uid'"),
        (None, {"sources": {"o": pickle.dumps(Evil(), 0)}}, "source 'my-uid'"),
        (None, {"sinks": {"o": pickle.dumps(Evil(), 5)}}, "sink 'my-uid'"),
        (None, {"accumulators": pickle.dumps(Evil(), 1)}, "accumulators"),
        (None, {"carry": pickle.dumps({"o": pickle.dumps(Evil(), 5)}, 5)}, "vertex"),
        (None, {"sources": {"o": records.pack([Split("s", Evil())])}}, "source 'my-uid'"),
        (None, {"sinks": {"o": records.pack([FileChunks("d", (), 0)])}}, "sink 'my-uid'"),
        (None, {"sources": {"o": records.pack([DYNAMIC])}}, "dynamic kafka split"),
        ({b"\0\1key": pickle.dumps(Evil(), 5)}, {}, "vertex"),
        ({b"\0\1" + pickle.dumps(Evil(), 5): b"\1"}, {}, "vertex"),
        ({b"\0\1" + encode_key(Key("a")): b"\1"}, {}, "vertex"),
        (NAMED, {}, "state seen of operator 'my-uid'"),
        ({COLUMN: catalog.encode(msgspec.structs.replace(ENTRY, steps=(STEP,)))}, {}, "a function for its"),
    ],
)  # fmt: skip
def test_each_part_of_a_snapshot_is_looked_at(
    tmp_path: Path, entries: dict[bytes, bytes] | None, parts: dict[str, Any], named: str
) -> None:
    ran.clear()
    with pytest.raises(StateError, match=named) as info:
        require_plain(manifest_with(tmp_path, entries, **parts), StateFiles("/"))
    assert "declare a type" in str(info.value)
    assert not ran


def test_a_savepoint_of_plain_state_is_restored_and_one_of_objects_is_refused(tmp_path: Path) -> None:
    """With file and sequence sources, whose progress the engine pickles."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines").write_text("a\nb\n")
    path = saved(tmp_path, as_objects=False)
    assert restored(tmp_path, path) is None
    error = restored(tmp_path, saved(tmp_path, as_objects=True))
    assert isinstance(error, StateError)
    assert "value state kept" in str(error)
    assert "Held" in str(error)


class Held:
    """A value of a user's class."""


class Hold(KeyedProcessFunction):
    def __init__(self, as_objects: bool) -> None:
        self.as_objects = as_objects

    def open(self, runtime_context: RuntimeContext) -> None:
        type_info = Types.PICKLED_BYTE_ARRAY() if self.as_objects else Types.STRING()
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", type_info))
        self.days = runtime_context.get_list_state(ListStateDescriptor("days", Types.SQL_DATE()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.kept.update(Held() if self.as_objects else str(value))
        self.days.add(dt.date(2024, 1, 1))
        ctx.timer_service().register_event_time_timer(1 << 40)
        yield value


def program(tmp_path: Path, as_objects: bool, **options: str) -> Any:
    env = environment(1, **options)
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "in"))
    unmarked = WatermarkStrategy.no_watermarks()
    live = env.from_source(LiveSource("untrusted", 1), unmarked, "live").uid("live").map(str, Types.STRING())
    numbers = (
        env.from_source(NumberSequenceSource(0, 10), unmarked, "numbers")
        .uid("numbers")
        .map(str, Types.STRING())
    )
    both = env.from_source(lines.build(), unmarked, "lines").uid("lines").union(numbers, live)
    both.key_by(lambda v: v).process(Hold(as_objects)).uid("hold").print()
    return env


def saved(tmp_path: Path, as_objects: bool) -> str:
    with local_platform():
        client = program(tmp_path, as_objects).execute_async("job")
        job = client._handle.job
        lines = sum(len(path.read_text().splitlines()) for path in (tmp_path / "in").iterdir())
        until(lambda: job.view.records_read == lines + 11, "lines and numbers are not read")
        path: str = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(patience(20))
        return path


def restored(tmp_path: Path, path: str, **options: str) -> BaseException | None:
    """What a job says that begins with a snapshot that it does not trust."""
    recovery = options | {"execution.state-recovery.path": path, "execution.state-recovery.untrusted": "true"}
    with local_platform():
        try:
            client = program(tmp_path, False, **recovery).execute_async("job")
        except StateError as error:
            return error
        client.cancel().result(patience(20))
        return None


CHECKPOINTS = {
    "execution.checkpointing.interval": "50 ms",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
}


@pytest.mark.parametrize("as_objects", [False, True])
def test_the_latest_checkpoint_is_looked_at_too(tmp_path: Path, as_objects: bool) -> None:
    """With its accumulators, which a savepoint does not have."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines").write_text("a\nb\n")
    options = CHECKPOINTS | {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    with local_platform():
        client = program(tmp_path, as_objects, **options).execute_async("job")
        until(lambda: has_state(tmp_path))
        client.cancel().result(patience(20))
    error = restored(tmp_path, "latest", **options)
    assert (error is not None) == as_objects
    if error is not None:
        assert "value state kept" in str(error)


def has_state(tmp_path: Path) -> bool:
    """Whether the newest checkpoint of the job holds state."""
    found = list((tmp_path / "checkpoints").glob("*/chk-*/_metadata"))
    if not found:
        return False
    newest = max(found, key=lambda path: path.stat().st_mtime_ns)
    vertices = read_manifest(str(newest.parent)).vertices
    return any(line.runs for vertex in vertices for line in vertex.lines)


def test_the_result_of_a_job_is_looked_at(tmp_path: Path) -> None:
    """A job of this id has finished: what it counted is unpickled and given to the program."""
    ran.clear()
    job_id = JobID()
    root = tmp_path / str(job_id)
    root.mkdir()
    result = JobResult(str(job_id), "job", "FINISHED", 1, pickle.dumps({"n": Evil()}, 5))
    (root / "_result").write_bytes(encode_result(result))
    options = {"$internal.pipeline.job-id": str(job_id), "execution.checkpointing.dir": str(tmp_path)}
    options |= {"execution.checkpointing.interval": "1 min", "execution.state-recovery.untrusted": "true"}
    with local_platform(), pytest.raises(StateError, match=f"result of the job {job_id}"):
        environment(1, **options).from_collection([1]).map(str).execute_and_collect()
    assert not ran


def test_a_reader_and_a_writer_of_savepoints_look_first(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines").write_text("a\n")
    plain, objects = saved(tmp_path, as_objects=False), saved(tmp_path, as_objects=True)
    for opened in (SavepointReader.read, SavepointWriter.from_existing_savepoint):
        assert opened(plain, untrusted=True)
        assert opened(objects)
        with pytest.raises(StateError, match=r"value state kept .*of operator 'hold'"):
            opened(objects, untrusted=True)


@pytest.mark.parametrize(
    "accumulator",
    [kind() for kind in vars(accumulators).values() if is_concrete(kind)]
    + [
        metrics.Counter(),
        metrics.Meter(),
        metrics.Distribution(),
        metrics.Histogram(),
        metrics.Gauge(3),
    ],
    ids=lambda accumulator: type(accumulator).__name__,
)
def test_accumulators_and_metrics_are_plain_data(accumulator: Any) -> None:
    assert foreign_in(pickle.dumps({"n": accumulator}, 5)) is None
