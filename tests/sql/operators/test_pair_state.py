"""Numbers of pairs against a plain dictionary, over random epochs in random processes; those that have
dictionaries for the same entries (``MapsColumn``) among them."""

from __future__ import annotations

import copy
import random
import shutil
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import initialize, rule

from firesteel.common.columns import objects
from firesteel.sql.operators import pair_state, pair_table
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.pair_state import PairsColumn, pairs_state
from firesteel.sql.operators.pair_table import PairKeys, PairTable
from firesteel.sql.operators.pair_values import Values, form_of
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.column_keys import canonical_column_keys, identities
from tests.state.machine import LIMITS, ColumnMachine, as_test
from tests.state.support import Driver
from tests.state.test_model import COLD, TINY

TTL = 10
NAMES: list[Any] = ["a", "b", 1, ("t", None)]
KEYS = canonical_column_keys(NAMES, np.array([0, 0, 0, 77], np.uint32))
#: Columns, and rows of them.
VALUES: dict[str, tuple[list[pa.DataType], list[tuple[Any, ...]]]] = {
    "numbers": ([pa.int64()], [(0,), (1,), (-1,), (2**62,), (None,)]),
    "days": ([pa.date32()], [(0,), (20_000,), (None,)]),
    "floats": ([pa.float64()], [(0.0,), (-0.0,), (float("nan"),), (1.5,), (None,)]),
    "truths": ([pa.bool_()], [(True,), (False,), (None,)]),
    "texts": ([pa.string()], [("",), ("a",), ("b",), ("ä" * 40,), (None,)]),
    "rows": ([pa.int64(), pa.string()], [(1, "a"), (1, None), (None, "a"), (2, "a"), (2, "b")]),
    "bytes": ([pa.binary()], [(b"",), (b"a",), (b"\xc0",), (None,)]),
}


def few_hashes(places: Any, words: Any) -> Any:
    """All that is asked of a hash is that equal pairs have equal ones."""
    return words.view(np.uint64) & np.uint64(1)


class PairsMachine(ColumnMachine):
    """``pairs``: by the number of a key: identity of a value -> its numbers, and when they were written."""

    @property
    def pairs(self) -> Any:
        return self.model

    @initialize(
        limits=LIMITS,
        local=st.booleans(),
        values=st.sampled_from(sorted(VALUES)),
        width=st.sampled_from([None, 2]),
        ttl=st.sampled_from([0, TTL]),
        hashes=st.sampled_from([pair_table.pair_hashes, few_hashes]),
        together=st.sampled_from([2, 1 << 16]),
        capacity=st.sampled_from([4, 256]),
    )
    def start(
        self,
        limits: StateLimits,
        local: bool,
        values: str,
        width: int | None,
        ttl: int,
        hashes: Any,
        together: int,
        capacity: int,
    ) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(pair_table, "pair_hashes", hashes)
        self.patch.setattr(pair_table, "_FIRST_CAPACITY", capacity)
        self.patch.setattr(pair_state, "_TOGETHER", together)
        kinds, rows = VALUES[values]
        self.arrays = [
            pa.array(list(c), kind) for c, kind in zip(zip(*rows, strict=True), kinds, strict=True)
        ]
        self.inners = identities(self.arrays, len(rows))
        self.form = form_of(kinds)
        self.width = width
        self.ttl = ttl
        self.start_at(100, limits, local)

    def begin(self, number: int) -> None:
        self.model, self.now = copy.deepcopy(self.committed)
        self.state = self.processes[number]
        self.state.begin(self.driver.line, self.now)
        self.take_column(self.state.operator("op"))

    def take_column(self, operator: OperatorState) -> None:
        dtype = "int8" if self.width is None else "int64"
        self.column: PairsColumn = pairs_state(operator, "pairs", self.form, self.width, dtype, self.ttl)

    def teardown(self) -> None:
        if getattr(self, "ttl", 0):  # what has expired may stay, until it is compacted
            self.move_on(TTL)
            self.see_none()
            for process in self.processes:
                process.close()
            if self.local:
                shutil.rmtree(self.local, ignore_errors=True)
        else:
            super().teardown()
        if hasattr(self, "patch"):
            self.patch.undo()

    def see_none(self) -> None:
        for key in range(len(NAMES)):
            assert self.living(key) == {}
            slots = self.column.find(
                [NAMES[key]],
                [KEYS[key]],
                np.zeros(len(self.inners), np.int64),
                self.form.of(self.arrays, len(self.inners)),
            )
            assert not self.column.numbers(slots).any()

    # ---- what there is

    def lives(self, written: int) -> bool:
        return not self.ttl or written + self.ttl > self.now

    def living(self, key: int) -> dict[Any, Any]:
        return {v: n for v, (n, written) in self.pairs.get(key, {}).items() if self.lives(written)}

    def drawn(self, data: Any) -> tuple[int, ...]:
        if self.width is None:
            return (data.draw(st.integers(0, 100)),)
        return tuple(data.draw(st.lists(st.integers(-1, 2), min_size=2, max_size=2)))

    def has_put(self, key: int, inner: Any, numbers: tuple[int, ...]) -> None:
        if any(numbers):
            self.pairs.setdefault(key, {})[inner] = numbers, self.now
        else:
            self.pairs.get(key, {}).pop(inner, None)

    # ---- rules

    @rule(data=st.data(), seed=st.integers(0, 10**6))
    def see(self, data: Any, seed: int) -> None:
        """Some pairs are looked at together, some of them changed."""
        every = [(key, at) for key in range(len(NAMES)) for at in range(len(self.inners))]
        chosen = random.Random(seed).sample(every, data.draw(st.integers(1, len(every))))
        rows = np.array([at for _, at in chosen])
        values = self.form.of([a.take(pa.array(rows)) for a in self.arrays], len(rows))
        used = sorted({key for key, _ in chosen})
        of = np.array([used.index(key) for key, _ in chosen])
        slots = self.column.find([NAMES[key] for key in used], [KEYS[key] for key in used], of, values)
        known = [self.living(key).get(self.inners[at], (0,) * (self.width or 1)) for key, at in chosen]
        assert list(map(tuple, self.column.numbers(slots).tolist())) == known
        some = list(range(0, len(chosen), data.draw(st.integers(1, 3))))
        new = [self.drawn(data) for _ in some]
        self.column.put(slots[some], np.array(new))
        for i, numbers in zip(some, new, strict=True):
            key, at = chosen[i]
            self.has_put(key, self.inners[at], numbers)

    @rule(key=st.integers(0, len(NAMES) - 1))
    def clear(self, key: int) -> None:
        self.column.clear(NAMES[key], KEYS[key])
        self.pairs.pop(key, None)

    @rule()
    def take_all(self) -> None:
        """As after many misses: reading all of it is cheaper then."""
        if not self.state.complete:
            self.state._core.complete_cache()
            assert self.state.complete

    @rule(step=st.sampled_from([1, 5, 9, 10]))
    def move_on(self, step: int) -> None:
        self.now += step
        self.state.move_time(self.now)
        if step >= 1000:  # the end
            for key in range(len(NAMES)):
                self.clear(key)

    @rule(number=st.integers(0, 2), new=st.booleans())
    def commit(self, number: int, new: bool) -> None:
        delta = self.state.finish()
        if self.state.complete:
            held = {key: self.living(key) for key in range(len(NAMES))}
            assert self.column.cached_keys() == {KEYS[key] for key, pairs in held.items() if pairs}
            many = sum(len(pairs) + bool(pairs) for pairs in held.values())
            assert self.column.cached() == many, "what nobody can find must not stay"
        self.driver.commit(delta)
        self.committed = self.model, self.now
        if new:
            self.processes[number].close()
            self.processes[number] = self.driver.process()
        self.begin(number)

    @rule(number=st.integers(0, 2), data=st.data())
    def epoch_with_dictionaries(self, number: int, data: Any) -> None:
        """Entries are those of ``MapsColumn``: it reads them, and what it writes is read."""
        self.model, self.now = copy.deepcopy(self.committed)
        process = self.driver.process()
        process.begin(self.driver.line, self.now)
        maps: MapsColumn = maps_state(process.operator("op"), "pairs", ttl_ms=self.ttl)
        for key, (name, canonical) in enumerate(zip(NAMES, KEYS, strict=True)):
            of_key = {v: n[0] if self.width is None else n for v, n in self.living(key).items()}
            assert maps.of(name, canonical) == of_key
            at = data.draw(st.integers(0, len(self.inners)))
            if at < len(self.inners):
                inner, numbers = self.inners[at], self.drawn(data)
                if any(numbers):
                    maps.put(name, inner, numbers[0] if self.width is None else numbers)
                elif inner in of_key:
                    maps.remove(name, inner)
                self.has_put(key, inner, numbers)
        self.driver.commit(process.finish())
        process.close()
        self.committed = self.model, self.now
        self.begin(number)


TestPairsModel = as_test(PairsMachine)


# ---- the table


@settings(deadline=None)
@given(
    st.lists(st.sets(st.tuples(st.integers(0, 5), st.integers(-3, 3)), max_size=30), max_size=12),
    st.booleans(),
    st.sampled_from([1, 7, 1 << 40]),
    st.randoms(use_true_random=False),
)
def test_pairs_are_found_whatever_their_hashes(
    batches: list[set[tuple[int, int]]], as_objects: bool, hashes: int, chance: random.Random
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_table, "_FIRST_CAPACITY", 4)
        table = PairTable(as_objects)
    model: dict[tuple[int, int], int] = {}

    def keys(pairs: list[tuple[int, int]]) -> PairKeys:
        words = np.array([word for _, word in pairs], np.int64)
        places = np.array([place for place, _ in pairs], np.int32)
        if not as_objects:
            return PairKeys(places, words, None)
        return PairKeys(places, words % 2, objects([(word, "x") for word in words.tolist()]))

    def few(places: Any, words: Any) -> Any:
        return ((places * 31 + words) % hashes).astype(np.int64).view(np.uint64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_table, "pair_hashes", few)
        for batch in batches:
            pairs = sorted(batch)
            if not table.has_room(len(pairs)):
                before = {slot: pair for pair, slot in model.items()}
                model = {before[old]: new for new, old in enumerate(table.rebuild(len(pairs)).tolist())}
                assert table.holes == 0
            found = table.find(keys(pairs)).tolist()
            assert found == [model.get(pair, -1) for pair in pairs]
            new = [pair for pair in pairs if pair not in model]
            model.update(zip(new, table.add(keys(new)).tolist(), strict=True))
            gone = [pair for pair in sorted(model) if chance.random() < 0.3]
            table.release(np.array([model.pop(pair) for pair in gone], np.int64))
            assert sorted(table.slots().tolist()) == sorted(model.values())
            assert len(table) == len(model)


# ---- the column


NUMBERS = form_of([pa.int64()])


def column_of(op: OperatorState, ttl_ms: int = 0) -> PairsColumn:
    return pairs_state(op, "pairs", NUMBERS, None, "int8", ttl_ms)


def seen(op: OperatorState, name: str, numbers: Any, bits: int = 1) -> list[int]:
    """What is known of some numbers, which are marked then."""
    column = column_of(op)
    words = np.asarray(numbers, np.int64)
    slots = column.find([name], [name], np.zeros(len(words), np.int64), Values(words))
    known: list[int] = column.numbers(slots)[:, 0].tolist()
    column.put(slots, np.full((len(words), 1), bits))
    return known


def test_memory_is_given_back_when_most_pairs_are_gone() -> None:
    driver = Driver()
    process = driver.process()
    driver.run(process, lambda op: seen(op, "a", range(10_000)))
    column = column_of(process.operator("op"))
    full = column._table.capacity
    assert full >= 10_000
    driver.run(process, lambda op: seen(op, "b", range(10)))
    driver.run(process, lambda op: column.clear("a", "a"))
    assert column._table.capacity <= full // 8
    assert driver.run(process, lambda op: seen(op, "b", range(12))) == [1] * 10 + [0, 0]

    def left(op: OperatorState) -> list[int]:
        maps: MapsColumn = maps_state(op, "pairs")
        return [len(maps.of(key, key)) for key in ("a", "b")]

    assert driver.run(driver.process(), left) == [0, 12]


def test_in_a_batch_keys_come_and_go_in_the_room_of_a_few() -> None:
    driver = Driver(limits=StateLimits(batch=True))
    process = driver.process()
    process.begin(driver.line, 0)
    op = process.operator("op")
    column = column_of(op)
    for key in range(200):
        assert seen(op, f"k{key}", range(50)) == [0] * 50
        assert seen(op, f"k{key}", range(25)) == [1] * 25
        process.drop_key(f"k{key}")
    assert column._table.capacity <= 512
    assert len(column._names) <= 20
    assert column.cached_keys() == set()


def test_a_key_that_is_cleared_and_comes_again_does_not_see_what_is_committed() -> None:
    for limits in (StateLimits(), COLD, TINY):
        driver = Driver(limits=limits)
        driver.run(driver.process(), lambda op: seen(op, "a", range(8)))

        def again(op: OperatorState) -> list[int]:
            column_of(op).clear("a", "a")
            first = seen(op, "a", [3, 9])
            column_of(op).clear("a", "a")
            return first + seen(op, "a", [3, 4])

        assert driver.run(driver.process(), again) == [0, 0, 0, 0]
        assert driver.run(driver.process(), lambda op: seen(op, "a", range(6))) == [0, 0, 0, 1, 1, 0]


def test_pairs_that_are_not_here_are_asked_for_once_each() -> None:
    driver = Driver(limits=COLD)
    driver.run(driver.process(), lambda op: seen(op, "a", range(100)))
    process = driver.process()
    process.begin(driver.line, 0)
    op = process.operator("op")
    assert seen(op, "a", [5, 6, 200]) == [1, 1, 0]
    assert process._core.misses == 3
    assert seen(op, "a", [200, 6, 5]) == [1, 1, 1]
    assert process._core.misses == 3


def test_a_pair_takes_few_bytes() -> None:
    driver = Driver()
    process = driver.process()
    driver.run(process, lambda op: seen(op, "a", range(10)))
    count = 100_000
    process.begin(driver.line, 0)
    op = process.operator("op")
    column = column_of(op)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    slots = column.find(["a"], ["a"], np.zeros(count, np.int64), Values(np.arange(count) * 7919))
    column.put(slots, np.ones((count, 1), np.int64))
    del slots
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held / count < 60
