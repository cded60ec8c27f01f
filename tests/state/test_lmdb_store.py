from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.state import lmdb_store
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.files import MemoryStateFiles, StateFiles
from firesteel.state.line import EMPTY, DeltaRef, RunRef, StateLine, advance
from firesteel.state.lmdb_store import LONGEST_KEY, LocalStore, LocalStoreKey
from firesteel.state.runs import TOMBSTONE, Run, encode_run, prefix_end
from tests.waiting import in_time

from .support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()
VALUE = ValueStateDescriptor("value", ANY)
MAP = MapStateDescriptor("map", ANY, ANY)
#: The cache holds next to nothing, so that reads go to the local store.
TINY = StateLimits(cache_entries=3, warm_entries=0)


class Line:
    """A line whose deltas are given as dictionaries."""

    def __init__(self) -> None:
        self.line = EMPTY
        self.runs: dict[str, Run] = {}

    def add(self, manifest_id: str, entries: dict[bytes, bytes]) -> StateLine:
        keys = sorted(entries)
        data, digest = encode_run(keys, [entries[key] for key in keys])
        self.runs[manifest_id] = Run.of_bytes(data)
        ref = RunRef(manifest_id, 0, len(data), digest, len(keys), 0, 127)
        self.line, _ = advance(self.line, manifest_id, ref, None)
        return self.line

    def slices(self, delta: DeltaRef) -> Iterator[tuple[list[bytes], list[bytes]]]:
        return self.runs[delta.manifest_id].slices()


@pytest.fixture(autouse=True)
def no_shared_environments() -> Iterator[None]:
    yield
    for environment in lmdb_store._environments.values():
        environment.close()
    lmdb_store._environments.clear()


def store(path: Path, boot_id: str = "boot") -> LocalStore:
    return LocalStore(LocalStoreKey(str(path), "job", "1", "v", 0), boot_id)


def entries(local: LocalStore, prefix: bytes) -> list[tuple[bytes, bytes]]:
    """What is stored under a prefix, in the order that it is given in."""
    slices = local.slices(prefix, prefix_end(prefix))
    return [entry for slice in slices for entry in zip(*slice, strict=True)]


def directories(path: Path) -> list[str]:
    return sorted(os.listdir(path / "job" / "1" / "v" / "0"))


def test_a_store_catches_up_with_its_line(tmp_path: Path) -> None:
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1a": b"1", b"\0\1b": b"2"})
    assert local.catch_up(line.line, line.slices)
    assert (local.get(b"\0\1a"), local.get(b"\0\1c")) == (b"1", None)
    line.add("m2", {b"\0\1a": b"3", b"\0\1b": TOMBSTONE})
    line.add("m3", {b"\0\1c": b"4"})
    assert local.catch_up(line.line, line.slices)
    assert entries(local, b"\0\1") == [(b"\0\1a", b"3"), (b"\0\1c", b"4")]
    assert local.complete
    assert len(directories(tmp_path)) == 1


def test_a_store_over_segments_keeps_deletions(tmp_path: Path) -> None:
    line, local = Line(), store(tmp_path)
    line.line = StateLine(manifest_id="m0", base_id="m0", segments=(RunRef("s", 0, 1, "s", 5, 0, 127, 1),))
    line.add("m1", {b"\0\1a": TOMBSTONE})
    assert local.catch_up(line.line, line.slices)
    assert local.get(b"\0\1a") == TOMBSTONE
    assert not local.complete


def test_a_store_of_another_line_is_left_alone(tmp_path: Path) -> None:
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1a": b"1"})
    fork = Line()
    fork.line, fork.runs = line.line, dict(line.runs)
    line.add("m2", {b"\0\1a": b"2"})
    assert local.catch_up(line.line, line.slices)
    fork.add("m2-after-restore", {b"\0\1a": b"3"})
    assert local.catch_up(fork.line, fork.slices)
    assert local.get(b"\0\1a") == b"3"
    assert len(directories(tmp_path)) == 2
    assert store(tmp_path).catch_up(line.line, line.slices)  # the old one is still good for its own line
    assert len(directories(tmp_path)) == 2


def test_a_store_is_not_trusted_after_a_reboot(tmp_path: Path) -> None:
    line = Line()
    line.add("m1", {b"\0\1a": b"1"})
    assert store(tmp_path, "before").catch_up(line.line, line.slices)
    assert store(tmp_path, "after").catch_up(line.line, line.slices)
    assert len(directories(tmp_path)) == 2


def test_long_keys(tmp_path: Path) -> None:
    line, local = Line(), store(tmp_path)
    keys = [
        b"\0\1" + b"x" * length for length in (LONGEST_KEY - 3, LONGEST_KEY - 2, LONGEST_KEY - 1, 800, 5000)
    ]
    keys += [b"\0\1" + b"x" * 800 + b"y", b"\0\1" + b"y" * 900]
    line.add("m1", {key: b"%d" % number for number, key in enumerate(keys)})
    assert local.catch_up(line.line, line.slices)
    assert [local.get(key) for key in keys] == [b"%d" % number for number in range(len(keys))]
    assert local.get(b"\0\1" + b"x" * 801) is None
    assert entries(local, b"\0\1") == sorted((key, b"%d" % n) for n, key in enumerate(keys))
    long = b"\0\1" + b"x" * 800
    assert [key for key, _ in entries(local, long)] == sorted(key for key in keys if key.startswith(long))
    line.add("m2", {keys[3]: TOMBSTONE})
    assert local.catch_up(line.line, line.slices)
    assert local.get(keys[3]) is None


def test_the_map_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_store, "FIRST_MAP_BYTES", 64 * 1024)
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1%d" % n: bytes(5000) for n in range(200)})
    assert local.catch_up(line.line, line.slices)
    assert local.get(b"\0\x01199") == bytes(5000)


def run_python(program: str, *args: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    return subprocess.Popen(
        [sys.executable, "-c", program, *args], stdout=subprocess.PIPE, text=True, env=env
    )


def test_another_process_may_grow_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_store, "FIRST_MAP_BYTES", 64 * 1024)
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1a": b"1"})
    assert local.catch_up(line.line, line.slices)
    program = """
import sys
from pathlib import Path
from tests.state.test_lmdb_store import Line, store
line = Line()
line.add("m1", {b"\\0\\1a": b"1"})
line.add("m2", {b"\\0\\1%d" % n: bytes(5000) for n in range(2000)})
assert store(Path(sys.argv[1])).catch_up(line.line, line.slices)
"""
    process = run_python(program, str(tmp_path))
    process.communicate()
    assert process.returncode == 0
    line.add("m2", {b"\0\1%d" % n: bytes(5000) for n in range(2000)})
    line.add("m3", {b"\0\1b": b"2"})
    assert local.catch_up(line.line, line.slices)
    assert (local.get(b"\0\1b"), local.get(b"\0\x011999")) == (b"2", bytes(5000))
    assert len(directories(tmp_path)) == 1


def test_a_process_killed_while_it_writes_leaves_the_store_usable(tmp_path: Path) -> None:
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1a": b"1"})
    assert local.catch_up(line.line, line.slices)
    program = """
import sys, time
from pathlib import Path
from tests.state.test_lmdb_store import Line, store
line = Line()
line.add("m1", {b"\\0\\1a": b"1"})
line.add("m2", {b"\\0\\1%d" % n: bytes(200) for n in range(20000)})
def slow(delta):
    for number, piece in enumerate(line.slices(delta)):
        if number == 60:
            print("writing", flush=True)
            time.sleep(60)
        yield piece
store(Path(sys.argv[1])).catch_up(line.line, slow)
"""
    for _ in range(3):
        process = run_python(program, str(tmp_path))
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert local.catch_up(line.line, line.slices)
        assert (local.get(b"\0\1a"), local.get(b"\0\x015")) == (b"1", None)
    line.add("m2", {b"\0\1a": b"2"})
    with in_time(5):
        assert local.catch_up(line.line, line.slices)
    assert local.get(b"\0\1a") == b"2"


def test_a_damaged_store_is_left_alone(tmp_path: Path) -> None:
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1a": b"1"})
    assert local.catch_up(line.line, line.slices)
    local.close()
    [name] = directories(tmp_path)
    (tmp_path / "job" / "1" / "v" / "0" / name / "data.mdb").write_bytes(b"rubbish" * 2000)
    assert store(tmp_path).catch_up(line.line, line.slices)
    assert len(directories(tmp_path)) == 2


def test_without_room_there_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("a file where the directory should be")
    line, local = Line(), store(tmp_path)
    line.add("m1", {b"\0\1a": b"1"})
    assert not local.catch_up(line.line, line.slices)
    assert not local.catch_up(line.line, line.slices)


# ---- beneath the backend


def work(op: OperatorState, epoch: int) -> None:
    value, table = op.get_state(VALUE), op.get_map_state(MAP)
    for n in range(20):
        use(op, f"key-{n}")
        assert value.value() == (epoch - 1 if epoch else None)
        assert sorted(table.keys()) == list(range(epoch))
        value.update(epoch)
        table.put(epoch, n)


@pytest.mark.row("S-BACK-07")
def test_the_backend_reads_through_the_store(tmp_path: Path) -> None:
    driver = Driver(MemoryStateFiles(), TINY, str(tmp_path))
    processes = [driver.process() for _ in range(2)]
    for epoch in range(30):
        driver.run(processes[epoch % 2], lambda op, epoch=epoch: work(op, epoch))
    assert len(directories(tmp_path)) == 1


@pytest.mark.parametrize("entries", [0, 1, 4, 7, 10_000])
def test_a_late_host_does_not_copy_large_deltas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    """Its store begins with the newest deltas; what is older is read from the runs, until it is folded."""
    monkeypatch.setattr(lmdb_store, "NEW_STORE_ENTRIES", entries)
    driver = Driver(MemoryStateFiles(), TINY)
    first = driver.process()
    for epoch in range(6):
        driver.run(first, lambda op, epoch=epoch: work(op, epoch))
    driver.local_dir = str(tmp_path)
    late = driver.process()
    for epoch in range(6, 30):
        driver.run(late, lambda op, epoch=epoch: work(op, epoch))
        store = late._core.overlay._store
        assert store is not None
        assert store.complete == (entries == 10_000)


def test_a_store_that_breaks_in_the_middle_of_an_epoch_is_given_up(tmp_path: Path) -> None:
    driver = Driver(StateFiles(tmp_path / "state"), TINY, str(tmp_path))
    state = driver.process()
    for epoch in range(5):
        driver.run(state, lambda op, epoch=epoch: work(op, epoch))

    class Broken:
        complete = True
        base_id = ""

        def get(self, key: bytes) -> bytes:
            raise lmdb.CorruptedError("damaged")

        scan = get

        def catch_up(self, *_: object) -> bool:
            return True

        def rest(self) -> None: ...

    state._core.overlay._store = Broken()  # type: ignore[assignment]
    driver.run(state, lambda op: work(op, 5))
    driver.run(state, lambda op: work(op, 6))
