"""Rows that are only ever added, against a plain dictionary, over random epochs in random processes."""

from __future__ import annotations

import gc
import shutil
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import initialize, rule

from firesteel.common.columns import Columns
from firesteel.common.errors import StateError
from firesteel.sql import types as t
from firesteel.sql.operators import appended_rows, hash_index, row_buckets
from firesteel.sql.operators.appended_rows import AppendedRows, appended_rows_state
from firesteel.sql.operators.hash_index import RunIndex, mixed
from firesteel.sql.operators.keyed_log import KeyedLog
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.row_log import RowLog
from firesteel.sql.values import array_of
from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.column_keys import hash_codes, identities
from firesteel.state.hash_codes import groups_of_codes
from firesteel.state.line import StateLine, restored
from firesteel.state.reader import StateReader
from firesteel.state.rows import of_column, rows_of as stored_rows_of
from tests.budget import examples
from tests.state.machine import LIMITS, ColumnMachine, as_test
from tests.state.support import GROUPS, Driver
from tests.state.test_model import COLD, LARGE

INTEGER = t.RowType.of(("k", "v", "w"), (t.BigIntType(), t.VarCharType(), t.BigIntType()))
TEXT = t.RowType.of(("k", "v", "w"), (t.VarCharType(), t.VarCharType(), t.BigIntType()))
INTEGER_KEYS = st.integers(-3, 3)
TEXT_KEYS = st.none() | st.sampled_from(["", "a", "b", "\u00e9", "a" * 70])
Rows = list[tuple[Any, ...]]


def columns_of(row: t.RowType, rows: Rows) -> Columns:
    values = zip(*rows, strict=True) if rows else ((),) * len(row.types)
    return Columns([array_of(list(v), kind) for v, kind in zip(values, row.types, strict=True)], len(rows))


def keyed(row: t.RowType, rows: Rows) -> tuple[KeyedRows, np.ndarray[Any, Any]]:
    """Rows together by key, and how many each key has."""
    found = KeyedRows.of(columns_of(row, rows), (0,), canonical=False)
    return found, found.segments.last + 1 - found.segments.starts


def rows_of(arrays: list[pa.Array]) -> Rows:
    return list(zip(*(a.to_pylist() for a in arrays), strict=True))


class AppendedMachine(ColumnMachine):
    """The model: by key its rows, in the order in which they came."""

    row: t.RowType
    keys: Any

    @initialize(
        limits=LIMITS,
        local=st.booleans(),
        bucket=st.sampled_from([1, 30, row_buckets.BUCKET_BYTES]),
        together=st.sampled_from([2, 3, row_buckets.TOGETHER]),
        large=st.sampled_from([150, row_buckets.LARGE_BYTES]),
        at_once=st.sampled_from([100, appended_rows._AT_ONCE_BYTES]),
        joined=st.sampled_from([1, appended_rows._JOINED_BYTES]),
    )
    def start(
        self,
        limits: StateLimits,
        local: bool,
        bucket: int,
        together: int,
        large: int,
        at_once: int,
        joined: int,
    ) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(row_buckets, "BUCKET_BYTES", bucket)
        self.patch.setattr(row_buckets, "TOGETHER", together)
        self.patch.setattr(row_buckets, "LARGE_BYTES", large)
        self.patch.setattr(appended_rows, "_AT_ONCE_BYTES", at_once)
        self.patch.setattr(appended_rows, "_JOINED_BYTES", joined)
        self.start_at(0, limits, local)
        self.number = 0

    def take_column(self, operator: OperatorState) -> None:
        self.column: AppendedRows = appended_rows_state(operator, "rows", self.row, (0,), True, "shape")

    def looked_up(self, keys: list[Any]) -> list[Rows]:
        array = array_of(keys, self.row.types[0])
        names, codes = identities([array], len(keys)), hash_codes([array], len(keys))
        counts, arrays = self.column.look(names, codes)
        assert [len(a) for a in arrays] == [counts.sum()] * 3
        found, start = rows_of(arrays), 0
        parts = []
        for count in counts.tolist():
            parts.append(found[start : start + count])
            start += count
        return parts

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        keys = data.draw(st.lists(self.keys, unique=True, max_size=4))
        assert self.looked_up(keys) == [self.model.get(repr(k).encode(), []) for k in keys]

    @rule(data=st.data(), repeat=st.sampled_from([1, 1, 1, 50]))
    def add(self, data: st.DataObject, repeat: int) -> None:
        self.put(data.draw(st.lists(self.keys, min_size=1, max_size=6)), repeat)

    @rule(data=st.data(), epochs=st.sampled_from([2, 4, 9]), processes=st.integers(1, 3))
    def go_on(self, data: st.DataObject, epochs: int, processes: int) -> None:
        """Epochs in processes that follow each other: their entries become few."""
        keys = data.draw(st.lists(self.keys, unique=True, min_size=1, max_size=2))
        for epoch in range(epochs):
            self.put(keys, 1)
            self.commit(epoch % processes, False)
            if epoch % 2:
                assert self.looked_up(keys) == [self.model[repr(k).encode()] for k in keys]

    @rule()
    def complete(self) -> None:
        """As when so many keys were missed that all is read."""
        if not self.state.complete:
            self.state._core.complete_cache()

    def put(self, keys: list[Any], repeat: int) -> None:
        rows: Rows = []
        for key in keys:
            for _ in range(repeat):
                self.number += 1
                rows.append((key, None if self.number % 5 == 0 else "text" * (self.number % 3), self.number))
        found, lengths = keyed(self.row, rows)
        self.column.add(found.segments.names, lengths, found.rows.arrays)
        for row in rows:
            self.model.setdefault(repr(row[0]).encode(), []).append(row)

    @rule()
    def keys_are_known(self) -> None:
        assert self.column.changed() >= 0
        if self.state.complete:
            assert len(self.column.cached_keys()) == len(self.model)

    def move_on(self, step: int) -> None:
        """Time does nothing to them."""

    def teardown(self) -> None:
        if not hasattr(self, "driver"):
            return
        self.driver.commit(self.state.finish())
        reader = StateReader(self.driver.line, self.driver.files, max_parallelism=128, key_groups=GROUPS)
        assert reader.count_entries() <= sum(map(len, self.model.values()))
        for process in self.processes:
            process.close()
        if self.local:
            shutil.rmtree(self.local, ignore_errors=True)
        self.patch.undo()


class IntegerMachine(AppendedMachine):
    row, keys = INTEGER, st.none() | INTEGER_KEYS


class TextMachine(AppendedMachine):
    row, keys = TEXT, TEXT_KEYS


TestIntegers = as_test(IntegerMachine)
TestTexts = as_test(TextMachine)


class PoorMachine(TextMachine):
    """Texts under hashes that nearly all of them share, in memory and in what is stored."""

    def start_at(self, now: int, limits: StateLimits, local: bool) -> None:
        def few(codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            return (codes % np.uint32(2)).astype(np.uint64) << np.uint64(31)

        self.patch.setattr(
            KeyedLog, "_hashes", lambda self, names: mixed(np.array([hash(n) % 2 for n in names], np.int64))
        )
        self.patch.setattr(row_buckets, "hashes_of", few)
        super().start_at(now, limits, local)


TestCollisions = as_test(PoorMachine)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=30, unique=True), max_size=50))
def test_an_index_finds_all_runs_of_a_hash(batches: list[list[int]]) -> None:
    """Hashes that fall on the same cells, tables that grow, chains long enough to be remembered."""
    index = RunIndex()
    expected: dict[int, list[int]] = {}
    first = 0
    for batch in batches:
        hashes = np.array(batch, np.uint64) << np.uint64(40)  # all begin at one cell
        lengths = np.array([value % 3 for value in batch])
        starts = first + np.cumsum(lengths) - lengths
        index.append(hashes, starts, lengths)
        for value, start, length in zip(batch, starts.tolist(), lengths.tolist(), strict=True):
            expected.setdefault(value, []).extend(range(start, start + length))
        first += int(lengths.sum())
        asked = [40, 3, *batch[:3]]
        counts, rows = index.rows_of(index.find(np.array(asked, np.uint64) << np.uint64(40)))
        assert rows.tolist() == [row for value in asked for row in expected.get(value, [])]
        assert counts.tolist() == [len(expected.get(value, [])) for value in asked]


def test_a_long_chain_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    index = RunIndex()
    one = np.ones(1, np.int64)
    for number in range(1000):
        index.append(one.astype(np.uint64), one * number, one)
    newest = index.find(one.astype(np.uint64))
    assert index.rows_of(newest)[1].tolist() == list(range(1000))
    monkeypatch.setattr(index, "previous", None)  # which nobody needs any more
    assert index.rows_of(newest)[1].tolist() == list(range(1000))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 300), max_size=12), st.lists(st.integers(0, 10**6), max_size=50), st.data())
def test_a_log_gives_rows_by_their_numbers(sizes: list[int], rows: list[int], data: st.DataObject) -> None:
    log = RowLog([pa.int64(), pa.string()])
    expected: Rows = []
    for size in sizes:
        start = len(expected)
        part = [(start + i, None if i % 7 == 0 else str(start + i)) for i in range(size)]
        numbers, texts = (list(c) for c in zip(*part, strict=True)) if part else ([], [])
        assert log.append([pa.array(numbers, pa.int64()), pa.array(texts, pa.string())], size) == start
        expected += part
    assert len(log) == len(expected)
    chosen = [row % len(expected) for row in rows] if expected else []
    assert rows_of(log.take(np.array(chosen, np.int64))) == [expected[i] for i in chosen]
    assert log.take(np.array(chosen, np.int64), (1,))[0].to_pylist() == [expected[i][1] for i in chosen]


def test_a_row_is_copied_few_times() -> None:
    log = RowLog([pa.int64()])
    for _ in range(500):
        log.append([pa.array(np.arange(100))], 100)
    assert len(log._pieces) < 12


def test_rows_of_a_batch_with_keys_are_dropped_when_the_keys_are_done() -> None:
    """BATCH mode: a state that forgets its keys one by one does not keep their rows."""
    driver = Driver()
    process = driver.process()
    process.begin(driver.line, 0)
    column = appended_rows_state(process.operator("op"), "rows", INTEGER, (0,), False, "shape")
    for key in range(200):
        found, lengths = keyed(INTEGER, [(key, "text", number) for number in range(10)])
        column.add(found.segments.names, lengths, found.rows.arrays)
        counts, _ = column.look([key], found.codes)
        assert counts.tolist() == [10]
        column.drop_key(key)
        counts, _ = column.look([key], found.codes)
        assert counts.tolist() == [0]
    assert len(column._held.log) < 30


def test_a_key_with_many_rows_in_an_epoch_has_several_entries() -> None:
    driver = Driver(limits=COLD)
    rows: Rows = [(1, "text", number) for number in range(2500)]

    def add(operator: OperatorState) -> None:
        column = appended_rows_state(operator, "rows", INTEGER, (0,), False, "shape")
        found, lengths = keyed(INTEGER, rows)
        column.add(found.segments.names, lengths, found.rows.arrays)

    driver.run(driver.process(), add)
    assert driver.line.entries == 3 + 1  # and what is stored about the state
    other = driver.process()
    other.begin(driver.line, 0)
    column = appended_rows_state(other.operator("op"), "rows", INTEGER, (0,), False, "shape")
    found, _ = keyed(INTEGER, rows)
    counts, arrays = column.look([1], found.codes)
    assert counts.tolist() == [2500]
    assert rows_of(arrays) == rows


def column_of(operator: OperatorState, row: t.RowType = INTEGER) -> AppendedRows:
    return appended_rows_state(operator, "rows", row, (0,), False, "shape")


def add(column: AppendedRows, rows: Rows, row: t.RowType = INTEGER) -> None:
    found, lengths = keyed(row, rows)
    column.add(found.segments.names, lengths, found.rows.arrays)


def look(column: AppendedRows, *keys: int) -> list[Rows]:
    array = pa.array(keys, pa.int64())
    counts, arrays = column.look(identities([array], len(keys)), hash_codes([array], len(keys)))
    found, ends = rows_of(arrays), np.cumsum(counts).tolist()
    return [found[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]


def entries_of(line: StateLine, driver: Driver) -> dict[bytes, bytes]:
    """The entries of rows."""
    process = driver.process()
    process.begin(line, 0)
    found = process._core.overlay.scan_all(0, 127)
    process.close()
    return found


def test_an_epoch_adds_one_entry_to_each_key_group() -> None:
    driver = Driver()
    rows: Rows = [(number, "text", number) for number in range(5000)]
    driver.run(driver.process(), lambda op: add(column_of(op), rows))
    entries = entries_of(driver.line, driver)
    assert {int.from_bytes(name[:2], "big") for name in entries} == set(GROUPS)
    assert len(entries) == len(GROUPS)


def test_entries_become_few() -> None:
    """So many epochs that each bucket is put together many times; what is read by then is read once."""
    driver = Driver()
    one, two = driver.process(), driver.process()
    keys = [7, 7_000_000_007]
    for epoch in range(300):
        rows: Rows = [(key, "text", epoch) for key in keys]
        driver.run((one, two)[epoch % 3 == 0], lambda op, rows=rows: add(column_of(op), rows))
    entries = entries_of(driver.line, driver)
    assert len(entries) <= 2 * 3 * (row_buckets.TOGETHER - 1)
    expected = [[(key, "text", epoch) for epoch in range(300)] for key in keys]
    for process in (one, two, driver.process()):
        assert driver.run(process, lambda op: look(column_of(op), *keys)) == expected


def test_large_entries_are_not_written_again() -> None:
    driver = Driver()
    process = driver.process()
    written = 0
    for epoch in range(40):
        rows: Rows = [(1, "a long text " * 8, number) for number in range(400)]
        driver.run(process, lambda op, rows=rows: add(column_of(op), rows))
        delta = driver.line.deltas[-1].run
        assert delta is not None
        written += delta.length
        assert epoch == 0 or delta.entries == 1
    assert written < 1.1 * sum(map(len, entries_of(driver.line, driver).values()))


def test_buckets_become_smaller_as_the_state_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is found in the buckets of all widths that its group has had, by a process that holds nothing."""
    monkeypatch.setattr(row_buckets, "BUCKET_BYTES", 500)
    driver = Driver(limits=COLD)
    process = driver.process()
    keys = range(0, 4000, 37)
    for epoch in range(12):
        rows: Rows = [(number, f"text {epoch}", epoch) for number in range(400 * epoch)]
        driver.run(process, lambda op, rows=rows: rows and add(column_of(op), rows))
    names = [name for name in entries_of(driver.line, driver) if not row_buckets.is_width(name)]
    assert len({name[4] for name in names}) > 2
    read: list[int] = []
    other = driver.process()
    other.begin(driver.line, 0)
    core, unlimited = other._core, other._core.entries_of
    monkeypatch.setattr(
        type(core), "entries_of", lambda self, head: (read.append(len(head)), unlimited(head))[1]
    )
    column = column_of(other.operator("op"))
    core.miss_limit = 10**9
    expected = [[(key, f"text {e}", e) for e in range(12) if key < 400 * e] for key in keys]
    assert look(column, *keys) == expected
    assert not core.complete
    assert len(read) < 3 * len(keys)
    assert len(column._held.log) == sum(map(len, expected)), "nothing is held of other keys"


def test_other_numbers_of_subtasks_find_the_rows_of_their_key_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_buckets, "BUCKET_BYTES", 2000)
    driver = Driver()
    one, two = driver.process(), driver.process()
    for epoch in range(20):
        rows: Rows = [(number, "text", epoch) for number in range(epoch, 1000, 3)]
        driver.run((one, two)[epoch % 2], lambda op, rows=rows: add(column_of(op), rows))
    groups = groups_of_codes(hash_codes([pa.array(range(1000), pa.int64())], 1000), 128)
    for part in (range(50), range(50, 128)):
        line = restored([driver.line], part, "restored")
        state = SubtaskState(
            job_id="job", attempt=2, vertex_id="v", subtask=0, max_parallelism=128, key_groups=part,
            files=driver.files,
        )  # fmt: skip
        state.begin(line, 0)
        keys = np.flatnonzero((groups >= part.start) & (groups < part.stop)).tolist()
        expected = [
            [(key, "text", epoch) for epoch in range(20) if key >= epoch and (key - epoch) % 3 == 0]
            for key in keys
        ]
        assert look(column_of(state.operator("op")), *keys) == expected


@pytest.mark.parametrize(
    ("row", "key", "shown"),
    [(INTEGER, 5, "Key 5 "), (TEXT, "ab", "Key 'ab' "), (TEXT, None, r"Key \(None,\) ")],
)
@pytest.mark.parametrize("asks", [False, True])
def test_a_key_of_another_subtask_is_named(row: t.RowType, key: Any, shown: str, asks: bool) -> None:
    """Not its hash code, which says nothing to whoever has written the program."""
    array = array_of([key], row.types[0])
    names, codes = identities([array], 1), hash_codes([array], 1)
    [group] = groups_of_codes(codes, 128).tolist()
    driver = Driver()
    state = SubtaskState(
        job_id="job", attempt=2, vertex_id="v", subtask=0, max_parallelism=128,
        key_groups=range(group + 1, group + 9), files=driver.files,
    )  # fmt: skip
    state.begin(driver.line, 0)
    column = column_of(state.operator("op"), row)
    column._core.complete = not asks
    add(column, [(key, "text", 1)], row)
    with pytest.raises(StateError, match=shown):
        column.look(names, codes) if asks else column.collect([], [])


def test_stored_rows_are_shown_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """To whoever reads state as data."""
    monkeypatch.setattr(row_buckets, "BUCKET_BYTES", 100)
    driver = Driver()
    process = driver.process()
    rows: Rows = [(number % 70, None if number % 2 else "text", number) for number in range(200)]
    for start in (0, 100):
        driver.run(process, lambda op, start=start: add(column_of(op), rows[start : start + 100]))
    other = driver.process()
    other.begin(driver.line, 0)
    state = next(entry for entry in other.catalog if entry.name == "rows")
    found = {
        row.key: row.value
        for group in GROUPS
        for row in stored_rows_of(state)(
            of_column(
                other._core.overlay.stream(group.to_bytes(2, "big")), column_of(other.operator("op")).id
            )
        )
    }
    assert found == {key: [list(row) for row in rows if row[0] == key] for key in range(70)}


def test_a_cache_counts_the_entries_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of memory is in entries, and an entry has many rows."""
    driver = Driver(limits=LARGE)
    process = driver.process()
    for epoch in range(3):
        rows: Rows = [(number, "text", epoch) for number in range(5000)]
        driver.run(process, lambda op, rows=rows: add(column_of(op), rows))
    process.begin(driver.line, 0)
    column = column_of(process.operator("op"))
    assert column.cached() == 3 * len(GROUPS)
    column.evict(0.5)
    assert abs(column.cached() - 1.5 * len(GROUPS)) < 3
    other = driver.process()
    other.begin(driver.line, 0)
    column = column_of(other.operator("op"))
    assert column.cached() == 3 * len(GROUPS)
    assert look(column, 1) == [[(1, "text", epoch) for epoch in range(3)]]
    assert column.cached() == 3 * len(GROUPS)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 300), max_size=12), st.integers(0, 4000), st.integers(0, 4000))
def test_a_log_gives_a_range_of_rows(sizes: list[int], one: int, other: int) -> None:
    log = RowLog([pa.int64()])
    for size in sizes:
        log.append([pa.array(range(len(log), len(log) + size), pa.int64())], size)
    start, stop = sorted(min(place, len(log)) for place in (one, other))
    assert [n for part in log.range(start, stop) for n in part[0].to_pylist()] == list(range(start, stop))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(20, 40), st.integers(0, 2**32 - 1)), min_size=1, max_size=50),
    st.dictionaries(st.integers(20, 40), st.sampled_from(row_buckets.WIDTHS)),
)
def test_rows_are_placed_by_group_and_hash(rows: list[tuple[int, int]], widths: dict[int, int]) -> None:
    groups, hashes = (np.array(column) for column in zip(*rows, strict=True))
    order, starts, heads = row_buckets.placed(groups, hashes.astype(np.uint64), widths)
    expected: dict[tuple[int, int, int], list[int]] = {}
    for number, (group, hash_) in enumerate(rows):
        width = widths.get(group, 0)
        expected.setdefault((group, width, hash_ >> 32 - width), []).append(number)
    found = np.split(order, starts[1:])
    assert {head: part.tolist() for head, part in zip(heads, found, strict=True)} == expected


def test_no_two_numbers_are_mixed_into_one() -> None:
    numbers = np.concatenate([np.arange(-5000, 5000), np.arange(5000) << 40, np.array([-(2**63), 2**63 - 1])])
    assert len(np.unique(hash_index.mixed(numbers))) == len(np.unique(numbers))


def test_entries_lie_in_the_order_of_epochs() -> None:
    """The name of an entry is the number of its epoch and its number in that."""
    assert 1 << appended_rows._ENTRY_BITS > 10**9 / appended_rows._ENTRY_ROWS


@pytest.mark.parametrize("rows_a_key", [1, 5])
def test_rows_take_up_to_twice_the_memory_of_their_columns(rows_a_key: int) -> None:
    """Two sides of a join, beside what Python and Arrow had allocated before."""
    count, batch = 400_000, 8192
    random = np.random.default_rng(1)
    driver = Driver()
    process = driver.process()
    process.begin(driver.line, 0)
    operator = process.operator("op")
    size = 0
    first, *columns = (
        appended_rows_state(operator, name, INTEGER, (0,), False, "shape")
        for name in ("first", "left", "right")
    )
    add(first, [(1, "text", 1)])  # what is imported for it is no memory of rows
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()
    for column in columns:
        keys = random.permutation(np.arange(count) // rows_a_key)
        for start in range(0, count, batch):
            part = pa.array(keys[start : start + batch])
            texts = pa.array([f"some text {k}" for k in part.to_pylist()])
            arrays = [part, texts, pa.array(np.arange(start, start + len(part)))]
            size += sum(a.nbytes for a in arrays)
            found = KeyedRows.of(Columns(arrays, len(part)), (0,), canonical=False)
            lengths = found.segments.last + 1 - found.segments.starts
            column.add(found.segments.names, lengths, found.rows.arrays)
    del part, texts, arrays, found, keys, lengths
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before
    tracemalloc.stop()
    assert size < taken < 2 * size, f"{taken / size:.2f}"
