"""What a process reads that has nothing of a state yet: a little, and what it says before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state import files as files_module, runs
from firesteel.state._overlay import FIRST_BYTES
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.files import StateFiles
from firesteel.state.runs import Run, encode_run

from .support import Driver, use

VALUE = ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY())
KEYS, VALUE_BYTES = 5_000, 2_000


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each read of a file."""
    lengths: list[int] = []
    reading = files_module._Content.read

    def counting(self: files_module._Content, offset: int, length: int) -> memoryview:
        lengths.append(length)
        return reading(self, offset, length)

    monkeypatch.setattr(files_module._Content, "read", counting)
    return lengths


def content(key: int, version: int) -> bytes:
    return (key * 31 + version).to_bytes(8, "big") * (VALUE_BYTES // 8)


def put(keys: range, version: int) -> Callable[[OperatorState], None]:
    def work(op: OperatorState) -> None:
        for key in keys:
            use(op, key).get_state(VALUE).update(content(key, version))

    return work


def test_a_late_process_reads_little_before_its_first_record(tmp_path: Path, read: list[int]) -> None:
    """Broken by hand: as many deltas are taken in as a process holds that has followed them (32 MB)."""
    driver = Driver(
        StateFiles(tmp_path), StateLimits(warm_entries=0, cache_bytes=1 << 20, recent_bytes=1 << 18)
    )
    state = driver.process()
    for start in range(0, KEYS, 500):
        driver.run(state, put(range(start, start + 500), 0))
    for epoch in range(20):
        driver.run(state, put(range(epoch * 100, epoch * 100 + 100), 1))
    written = sum(path.stat().st_size for path in tmp_path.rglob("*.run"))
    assert written > KEYS * VALUE_BYTES
    read.clear()
    late = driver.process()

    def look_up(op: OperatorState) -> tuple[list[bytes | None], int]:
        values = [use(op, key).get_state(VALUE).value() for key in (7, 1_950, 4_999)]
        return values, sum(read)  # and not what compaction reads after it

    found, size = driver.run(late, look_up)
    assert found == [content(7, 1), content(1_950, 1), content(4_999, 0)]
    assert size < 1.25 * FIRST_BYTES < written / 8


@pytest.mark.parametrize(("start", "stop"), [(0, 5_000), (1_234, 1_500), (4_990, 5_000)])
def test_scans_say_what_they_will_read(start: int, stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, before it is read, not much more, and in few calls."""
    monkeypatch.setattr(runs, "_READ_AHEAD", 4_000)
    keys = [b"\0\1%05d" % n for n in range(5_000)]
    data, _ = encode_run(keys, [b"value%d" % n for n in range(5_000)])
    announced: set[int] = set()
    calls: list[tuple[int, int]] = []

    def read(offset: int, length: int) -> memoryview:
        if calls:
            assert announced.issuperset(range(offset, offset + length))
            done.update(range(offset, offset + length))
        return memoryview(data)[offset : offset + length]

    def will_read(offset: int, length: int) -> None:
        calls.append((offset, length))
        announced.update(range(offset, offset + length))

    done: set[int] = set()
    run = Run("run", len(data), read, will_read=will_read)
    assert run.entries == 5_000
    found = [key for slice in run.slices(keys[start], b"\0\1%05d" % stop) for key in slice[0]]
    assert found == keys[start:stop]
    assert announced == done
    assert len(calls) <= 1 + len(done) // 3_000
    assert all(length < 3 * 4_000 for _, length in calls)


def test_places_beyond_the_end_are_empty(tmp_path: Path) -> None:
    """A damaged run may name any: whoever reads it finds that the checksum is wrong."""
    (tmp_path / "file").write_bytes(bytes(10_000))
    content = files_module._Content(lambda: StateFiles(tmp_path).open_mmap("file")[100:], 100)
    for offset in (9_900, 10_000, 1 << 40, 1 << 63):
        content.will_read(offset, 1 << 40)
        assert bytes(content.read(offset, 1 << 40)) == b""
    content.will_read(9_000, 1 << 40)
    assert len(content.read(9_000, 1 << 40)) == 900
