from __future__ import annotations

from typing import Any

import msgspec
import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.state import _compaction, _overlay
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.line import (
    EMPTY,
    RETAINED_DELTAS,
    Compaction,
    CompactionPiece,
    RunRef,
    StateLine,
    advance,
)
from firesteel.state.runs import TOMBSTONE

from .support import Driver, use

VALUE = ValueStateDescriptor("value", Types.LONG())
MAP = MapStateDescriptor("map", Types.LONG(), Types.LONG())


def ref(path: str, first: int = 0, last: int = 127, level: int = 0, entries: int = 128) -> RunRef:
    return RunRef(path, 0, 100, path, entries, first, last, level)


def advanced(line: StateLine, count: int, first: int = 1) -> StateLine:
    for number in range(first, first + count):
        line, _ = advance(line, f"m{number}", ref(f"d{number}"), None)
    return line


def test_a_line_names_its_manifests_and_nothing_else() -> None:
    line = advanced(EMPTY, 3)
    assert [line.position(m) for m in ("", "m1", "m2", "m3", "m4")] == [0, 1, 2, 3, None]
    assert line.manifest_id == "m3"
    assert line.sequence == 3


def test_a_line_is_the_same_after_a_journey() -> None:
    line = advanced(EMPTY, 3)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(line), type=StateLine) == line


def test_a_view_cuts_groups_out_of_segments() -> None:
    line = StateLine(manifest_id="m0", base_id="m0", segments=(ref("s1", level=1),))
    piece = CompactionPiece(1, 2, 32, 63, ref("s2", 32, 63, level=2))
    line, gone = advance(line, "m1", None, Compaction((piece,), 127))
    assert [(r.path, r.first_group, r.last_group, r.entries) for r in line.segments] == [
        ("s2", 32, 63, 128),
        ("s1", 0, 31, 32),
        ("s1", 64, 127, 64),
    ]
    assert gone == ()
    piece = CompactionPiece(1, 2, 0, 127, ref("s3", level=2))
    line, gone = advance(line, "m2", None, Compaction((piece,), 127))
    assert [r.path for r in line.segments] == ["s3"]
    assert gone == ("s1", "s2")


def test_a_sweep_folds_the_deltas_that_were_there_when_it_began() -> None:
    line = advanced(EMPTY, 20)
    half = CompactionPiece(0, 1, 0, 63, ref("a", 0, 63, level=1))
    line, gone = advance(line, "m21", ref("d21"), Compaction((half,), 127))
    assert (line.sweep_group, line.sweep_upto, line.folded, gone) == (64, "m20", 0, ())
    rest = CompactionPiece(0, 1, 64, 127, ref("b", 64, 127, level=1), sweep_end=True)
    line, gone = advance(line, "m22", ref("d22"), Compaction((rest,), 127))
    assert (line.sweep_group, line.sweep_upto) == (-1, "")
    assert [d.manifest_id for d in line.deltas] == [f"m{n}" for n in range(15, 23)]  # the newest 8 stay
    assert gone == tuple(sorted(f"d{n}" for n in range(1, 15)))
    assert line.base_id == "m14"
    assert [r.path for r in line.live_runs] == ["a", "b", "d21", "d22"]


def test_epochs_without_a_change_do_not_make_a_line_grow() -> None:
    line = EMPTY
    for number in range(1000):
        line, _ = advance(line, f"m{number}", None, None)
    assert len(line.deltas) == RETAINED_DELTAS
    assert line.position("m999") == RETAINED_DELTAS


@pytest.mark.parametrize("fresh_process", [True, False])
@pytest.mark.row("S-SLOT-21")
def test_a_line_stays_bounded_for_ever(fresh_process: bool) -> None:
    driver = Driver(limits=StateLimits(compaction_entries=300, warm_entries=0, cache_entries=500))
    state = driver.process()
    model: dict[str, int] = {}

    def work(op: OperatorState, epoch: int) -> None:
        handle = op.get_state(VALUE)
        for n in range(20):
            key = f"key-{(epoch * 37 + n * 11) % 1500}"
            use(op, key)
            assert handle.value() == model.get(key)
            if (epoch + n) % 7 == 0:
                handle.clear()
                model.pop(key, None)
            else:
                handle.update(epoch)
                model[key] = epoch

    most = [0, 0]
    for epoch in range(400):
        if fresh_process and epoch % 5 == 0:
            state = driver.process()
        driver.run(state, lambda op, epoch=epoch: work(op, epoch))
        most = [max(most[0], len(driver.line.deltas)), max(most[1], len(driver.line.segments))]
    assert most[0] <= 60
    assert most[1] <= 60
    assert driver.line.segments
    files: Any = driver.files
    assert len(files.content) <= most[0] + most[1]  # nothing is left behind
    assert sorted(driver.run(driver.process(), keys)) == sorted(model)


@pytest.mark.parametrize("recent_entries", [100_000, 60, 0])
def test_scans_see_the_newest_of_all_runs(recent_entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_overlay, "RECENT_ENTRIES", recent_entries)
    monkeypatch.setattr(_compaction, "MOST_DELTAS", 8)
    driver = Driver(limits=StateLimits(compaction_entries=2, warm_entries=0))
    model: dict[str, dict[int, int]] = {f"key-{n}": {} for n in range(200)}

    def work(op: OperatorState, epoch: int) -> None:
        table = op.get_map_state(MAP)
        for n in range(12):
            key = f"key-{(epoch * 7 + n * 5) % 200}"
            use(op, key)
            assert dict(table.items()) == model[key]
            name = (epoch + n) % 4
            if (epoch * n) % 5 == 1:
                table.remove(name)
                model[key].pop(name, None)
            elif (epoch * n) % 11 == 7:
                table.clear()
                model[key].clear()
            else:
                table.put(name, epoch)
                model[key][name] = epoch
            assert dict(table.items()) == model[key]

    levels = set()
    for epoch in range(150):
        driver.run(driver.process(), lambda op, epoch=epoch: work(op, epoch))
        levels.add(frozenset(ref.level for ref in driver.line.segments))
    assert any(len(found) > 1 for found in levels)  # there was something to overlay


def keys(op: OperatorState) -> list[str]:
    op.get_state(VALUE)
    return list(op.get_keys("value"))


def test_deletions_leave_nothing_behind() -> None:
    driver = Driver(limits=StateLimits(compaction_entries=100_000))
    state = driver.process()

    def work(op: OperatorState, value: int | None) -> None:
        handle = op.get_state(VALUE)
        for n in range(500):
            use(op, f"key-{n}")
            handle.clear() if value is None else handle.update(value)

    driver.run(state, lambda op: work(op, 1))
    driver.run(state, lambda op: work(op, None))
    for n in range(30):
        driver.run(state, lambda op, n=n: use(op, "other").get_state(VALUE).update(n))
    entries = [item for ref in driver.line.live_runs for item in driver.files.open_run(ref).scan_all()]
    assert len([key for key, _ in entries if b"key-" in key]) == 0
    assert TOMBSTONE not in [value for _, value in entries]


@pytest.mark.parametrize("changed", [0.01, 0.001])
@pytest.mark.row("S-BACK-13", "S-BACK-09", "S-CKPT-29")
def test_what_is_written_follows_what_has_changed(changed: float) -> None:
    keys, epochs, text = 20_000, 200, "x" * 200
    descriptor = ValueStateDescriptor("text", Types.STRING())
    driver = Driver(limits=StateLimits(compaction_entries=200))
    state = driver.process()
    files: Any = driver.files
    seen: dict[str, int] = {}

    def write(op: OperatorState, first: int, count: int) -> None:
        handle = op.get_state(descriptor)
        for n in range(first, first + count):
            use(op, n * 7919 % keys)
            handle.update(f"{n}{text}")

    def run(first: int, count: int) -> None:
        driver.run(state, lambda op: write(op, first, count))
        seen.update((path, len(data)) for path, data in files.content.items())

    run(0, keys)
    for _ in range(60):  # until the load is in segments
        run(0, 0)
    whole, before = sum(ref.length for ref in driver.line.live_runs), sum(seen.values())
    for epoch in range(epochs):
        run(epoch * round(keys * changed), round(keys * changed))
    share = (sum(seen.values()) - before) / epochs / whole
    assert share <= 0.05 if changed == 0.01 else share <= 0.015


def test_one_epoch_compacts_no_more_than_its_budget() -> None:
    budget = 2_000
    driver = Driver(limits=StateLimits(compaction_entries=budget, cache_entries=10**6))
    state = driver.process()

    def fill(op: OperatorState) -> None:
        handle = op.get_state(VALUE)
        for n in range(40_000):
            use(op, f"key-{n}")
            handle.update(n)

    driver.run(state, fill)
    for epoch in range(100):
        state.begin(driver.line, 0)
        op = state.operator("op")
        handle = op.get_state(VALUE)
        for n in range(100):
            use(op, f"key-{(epoch * 100 + n) % 40_000}")
            handle.update(epoch)
        delta = state.finish()
        for piece in delta.compaction.pieces if delta.compaction else ():
            if piece.run is not None and piece.last_group > piece.first_group:
                assert piece.run.entries <= budget * 1.2
        driver.commit(delta)
    assert driver.line.folded > 0 or driver.line.segments
