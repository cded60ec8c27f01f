"""Top-N against rows that are looked at one after the other: the same changes, of each key in the same
order."""

from __future__ import annotations

import datetime as dt
import gc
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.common.columns import Columns, objects
from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.sql.expressions import Ordering
from firesteel.sql.operators import kept_rows, rank_rounds
from firesteel.sql.operators.kept_rows import KeptRows
from firesteel.sql.operators.packed_rows import PackedRows
from firesteel.sql.operators.rank_state import Ranks, RanksForm
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.sort_keys import SortKeys
from firesteel.sql.operators.specs import Rank
from firesteel.state._value_codec import encode_value
from firesteel.testing.table_harness import TableHarness
from tests.budget import examples

LONG, TEXT = t.BigIntType(), t.VarCharType()
DECIMAL, TIME = t.DecimalType(precision=10, scale=2), t.TimestampType(precision=3)
INNER = t.RowType.of(("i", "s"), (t.IntType(), TEXT))


def inner(*values: Any) -> Row:
    row = Row(*values)
    row.set_field_names(["i", "s"])
    return row


#: Types of what rows are in order by, and values of them in ascending order.
ORDERS: dict[str, tuple[t.DataType, list[Any]]] = {
    "BIGINT": (LONG, [-(2**63), -1, 0, 7, 2**63 - 1]),
    "DECIMAL": (DECIMAL, [Decimal("-9.50"), Decimal("1.00"), Decimal("10.00")]),
    "STRING": (TEXT, ["", "a", "é"]),
    "TIMESTAMP": (TIME, [dt.datetime(1969, 1, 1), dt.datetime(2024, 1, 1)]),
    "DOUBLE": (t.DoubleType(), [-1.5, 0.0, 2.0]),
}
#: Types of what rows have beside it.
OTHERS: list[tuple[t.DataType, list[Any]]] = [
    (t.VarBinaryType(), [b"", b"\x00\xff", None]),
    (t.ArrayType(element_type=t.IntType()), [[], [1, None], None]),
    (t.MapType(key_type=TEXT, value_type=LONG), [{}, {"a": 1, "é": None}, None]),
    (INNER, [inner(1, "x"), inner(None, None), None]),
    (DECIMAL, [Decimal("0.01"), None]),
]
STRATEGIES = ("append", "retract", "update_fast")


@pytest.fixture(autouse=True)
def few_rows_are_left_lying(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "_FEW", 3)
    monkeypatch.setattr(kept_rows, "_AT_ONCE", 4)


def spec_of(by: str, strategy: str, **traits: Any) -> Rank:
    kinds = [TEXT, LONG, ORDERS[by][0], *(kind for kind, _ in OTHERS)]
    names = ["k", "id", "v", *(f"f{i}" for i in range(len(OTHERS)))]
    row = t.RowType.of(names, kinds)
    output = t.RowType.of([*names, "rn"], [*kinds, LONG]) if traits.get("output_number") else row
    return Rank(
        input=row, output=output, keys=(0,), strategy=strategy,
        upsert_key=(1,) if strategy == "update_fast" else (), **traits,
    )  # fmt: skip


def changes_one_by_one(before: list[Any], after: list[Any], spec: Rank) -> list[tuple[Any, ...]]:
    """What one row changes. :param before, after: the rows of its key that count; each is itself alone."""
    out: list[tuple[Any, ...]] = []
    if spec.output_number or spec.start > 1:
        for place in range(spec.start - 1, max(len(before), len(after))):
            old: Any = before[place] if place < len(before) else None
            new: Any = after[place] if place < len(after) else None
            number = (place + 1,) if spec.output_number else ()
            if old is new:
                continue
            if new is None:
                out.append(("-D", *old[0], *number))
            elif old is None:
                out.append(("+I", *new[0], *number))
            else:
                out += [("-U", *old[0], *number)] * spec.generate_update_before + [("+U", *new[0], *number)]
        return out
    gone = [row for row in before if all(row is not other for other in after)]
    come = [row for row in after if all(row is not other for other in before)]
    replaces = spec.strategy == "append" and spec.end == 1
    if gone and come and (replaces or (spec.strategy == "update_fast" and gone[0][0][1] == come[0][0][1])):
        return [("-U", *gone[0][0])] * spec.generate_update_before + [("+U", *come[0][0])]
    return [("-D", *row[0]) for row in gone] + [("+I", *row[0]) for row in come]


def ranks_one_by_one(
    held: dict[Any, list[Any]], changes: list[tuple[Any, ...]], spec: Rank, values: list[Any]
) -> list[tuple[Any, ...]]:
    """:param held: the rows of each key in order; a row is a list of one tuple."""
    (ordering,) = spec.order

    def place_of(value: Any) -> int:
        if value is None:
            return -1 if ordering.nulls_first else len(values)
        at = values.index(value)
        return at if ordering.ascending else len(values) - 1 - at

    assert spec.end is not None
    out = []
    for key in dict.fromkeys(row[1] for row in changes):
        rows = held.setdefault(key, [])
        for kind, *found in (row for row in changes if row[1] == key):
            row = tuple(found)
            before = rows[: spec.end]
            if spec.strategy == "update_fast":
                rows[:] = [other for other in rows if other[0][1] != row[1]]
            if kind == "+I":
                behind = [i for i, other in enumerate(rows) if place_of(other[0][2]) > place_of(row[2])]
                rows.insert(behind[0] if behind else len(rows), [row])
                if spec.strategy != "retract":
                    del rows[spec.end :]
            else:
                same = [i for i, other in enumerate(rows) if repr(other[0]) == repr(row)]
                if same:
                    del rows[same[0]]
            out += changes_one_by_one(before, rows[: spec.end], spec)
    return out


@st.composite
def cases(draw: st.DrawFn) -> tuple[Rank, list[list[tuple[Any, ...]]], list[Any]]:
    """A spec, changes of some epochs, and the values that rows are in order by."""
    by, strategy = draw(st.sampled_from(sorted(ORDERS))), draw(st.sampled_from(STRATEGIES))
    end = draw(st.integers(1, 4))
    ordering = Ordering(2, ascending=draw(st.booleans()), nulls_first=draw(st.booleans()))
    spec = spec_of(
        by, strategy, order=(ordering,), end=end, start=draw(st.sampled_from([1, min(2, end)])),
        output_number=draw(st.booleans()), generate_update_before=draw(st.booleans()),
    )  # fmt: skip
    values = ORDERS[by][1]
    rows = st.tuples(
        st.sampled_from(["a", "b"]),
        st.integers(0, 5),
        st.none() | st.sampled_from(values),
        *(st.sampled_from(others) for _, others in OTHERS),
    )
    held: list[tuple[Any, ...]] = []
    made = []
    for _ in range(draw(st.integers(1, 4))):
        epoch: list[tuple[Any, ...]] = []
        for _ in range(draw(st.integers(0, 8))):
            if held and strategy == "retract" and draw(st.booleans()):
                epoch.append(("-D", *held.pop(draw(st.integers(0, len(held) - 1)))))
                continue
            row = draw(rows)
            if strategy == "update_fast":  # a row that comes again is never behind the one that it replaces
                old = next((other for other in held if other[:2] == row[:2]), None)
                if old is not None:
                    row = (*row[:2], old[2], *row[3:])
                    held.remove(old)
            held.append(row)
            epoch.append(("+I", *row))
        made.append(epoch)
    return spec, made, values


def harness_of(spec: Rank, **settings: Any) -> TableHarness:
    return TableHarness(spec, [spec.input], spec.output, [(0,)], **settings)


def encodes_as_before(spec: Rank) -> Any:
    """What makes entries as the first releases did: rows by ``RowCodec``, with what they are found by."""
    codec = RowCodec(spec.input)

    def encode(form: RanksForm, columns: Any, count: int) -> list[bytes]:
        entries = []
        for ranks in columns[0].tolist():
            arrays = form.kept.take(np.array(ranks.items, np.int64))
            bodies = codec.encode(Columns(arrays, len(ranks.items)))
            ids = bodies if spec.strategy == "retract" else ranks.ids or ()
            entries.append(encode_value(((tuple(bodies), tuple(ids), ranks.end),)))
        return entries

    return encode


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.booleans(), st.integers(0, 2), st.integers(1, 3))
def test_ranks_are_those_of_rows_one_after_the_other(
    case: tuple[Rank, list[list[tuple[Any, ...]]], list[Any]], restores: bool, before: int, fewest: int
) -> None:
    """Each epoch runs in the other one of two processes, or goes on from a savepoint of the one before.

    :param before: how many epochs an earlier release has written.
    :param fewest: of how many keys rows come in rounds.
    """
    spec, epochs, values = case
    harness = harness_of(spec)
    held: dict[Any, list[Any]] = {}
    for number, changes in enumerate(epochs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rank_rounds, "_FEWEST", fewest)
            if number < before:
                patch.setattr(RanksForm, "encode", encodes_as_before(spec))
            harness.feed_changes(*changes)
        found, expected = harness.take(), ranks_one_by_one(held, changes, spec, values)
        found.sort(key=lambda change: change[1])  # keys are in two subtasks, and their rows come in rounds
        expected.sort(key=lambda change: change[1])
        assert list(map(repr, found)) == list(map(repr, expected))
        if restores:
            harness = harness_of(spec, restore=harness.snapshot(), parallelism=1 + number % 2)


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("value", [9, 99], ids=["better", "worse"])
def test_a_row_that_comes_again_goes_up_and_down(value: int, numbers: bool) -> None:
    """What one row changes is told rank by rank."""
    spec = spec_of("BIGINT", "update_fast", order=(Ordering(2),), end=4, output_number=numbers)
    rest = (None,) * len(OTHERS)
    harness = harness_of(spec)
    harness.feed(*(("a", number, number + 10, *rest) for number in range(4)))
    harness.take()
    new = ("a", 1, value, *rest)
    harness.feed_changes(("+U", *new))
    was: list[Any] = [("a", number, number + 10, *rest) for number in range(4)]
    now = sorted([*was[:1], *was[2:], new], key=lambda row: row[2])
    expected = []
    for place in range(4):
        if was[place] != now[place]:
            expected += [("-U", *was[place], place + 1), ("+U", *now[place], place + 1)]
    assert harness.take() == (expected if numbers else [("-U", *was[1]), ("+U", *new)])


STORED_ROW = t.RowType.of(
    ("k", "id", "v", "x", "n"), (TEXT, LONG, DECIMAL, t.ArrayType(element_type=TEXT), LONG)
)
STORED_ROWS = [
    ("a", 1, Decimal("1.50"), ["x", None], 2),
    ("a", 3, Decimal("0.25"), [], 2),
    ("a", 2, None, None, 2),
]
#: Entries of Top-N by ``v DESC NULLS LAST``: as the first releases wrote them, and as they are now.
STORED = {
    ("append", 3, 0): (
        "c10291c72f0293c7270293c40e95a16101a4312e353092a178c002c40b95a16103a4302e32359002"
        "c40795a16102c0c002d4029000",
        "94009003c49b03000000030000000500000000010000000001000000000000000096000000000000"
        "00000000000000000000040000000002000000000000000001000000000300000000000000001900"
        "00000000000000000000000000000001000000000200000000000000000100000000020000000000"
        "00000100000000000000000000000000000000010000000000020000000000000061616192a178c0"
        "90",
    ),
    ("retract", 3, 0): (
        "c10291c7560293c7270293c40e95a16101a4312e353092a178c002c40b95a16103a4302e32359002"
        "c40795a16102c0c002c7270293c40e95a16101a4312e353092a178c002c40b95a16103a4302e3235"
        "9002c40795a16102c0c00200",
        "94009003c49b03000000030000000500000000010000000001000000000000000096000000000000"
        "00000000000000000000040000000002000000000000000001000000000300000000000000001900"
        "00000000000000000000000000000001000000000200000000000000000100000000020000000000"
        "00000100000000000000000000000000000000010000000000020000000000000061616192a178c0"
        "90",
    ),
    ("update_fast", 3, 0): (
        "c10291c73c0293c7270293c40e95a16101a4312e353092a178c002c40b95a16103a4302e32359002"
        "c40795a16102c0c002c70d0293c4029101c4029103c402910200",
        "940093c4029101c4029103c402910203c49b03000000030000000500000000010000000001000000"
        "00000000009600000000000000000000000000000000040000000002000000000000000001000000"
        "00030000000000000000190000000000000000000000000000000001000000000200000000000000"
        "00010000000002000000000000000100000000000000000000000000000000010000000000020000"
        "000000000061616192a178c090",
    ),
    ("append", 2, 2): (
        "c10291c7260293c71e0292c40e95a16101a4312e353092a178c002c40b95a16103a4302e32359002d4029002",
        "94029002c46d02000000020000000500000000010000000001000000000000000096000000000000"
        "00000000000000000000040000000002000000000000000001000000000300000000000000001900"
        "00000000000000000000000000000001000000000200000000000000616192a178c090",
    ),
}


@pytest.mark.parametrize(("case", "entries"), STORED.items(), ids=lambda value: str(value)[:30])
def test_stored_ranks_are_read(case: tuple[str, int, int], entries: tuple[str, str]) -> None:
    strategy, count, end = case
    form = RanksForm(STORED_ROW, SortKeys((Ordering(2, False, False),), STORED_ROW.types), strategy)
    stored = [bytes.fromhex(entry) for entry in entries]
    found: list[Ranks] = form.decode(stored)[0]
    for ranks in found:
        arrays = form.kept.take(np.array(ranks.items, np.int64))
        assert list(Columns(arrays, count).rows()) == STORED_ROWS[:count]
        assert ranks.end == end
        assert (ranks.ids is None) is (strategy != "update_fast")
        assert ranks.keys == sorted(ranks.keys)
    assert found[0].keys == found[1].keys
    assert found[0].ids == found[1].ids
    assert form.encode([objects(found)], 2) == [stored[1]] * 2


def test_rows_that_count_no_more_do_not_stay_in_memory() -> None:
    """Broken by hand: ``tidy`` did nothing."""
    form = RanksForm(t.RowType.of(("v",), (LONG,)), SortKeys((), (LONG,)), "append")
    ranks = Ranks([], [()], None, 0)
    fields, alive = [objects([ranks, None])], np.array([True, False])
    for number in range(50):
        first = form.kept.append([pa.array([number] * 10, pa.int64())], 10)
        ranks.items = [first + 9]
        form.tidy(fields, alive)
        assert len(form.kept) <= 11
        assert form.kept.take(np.array(ranks.items))[0].to_pylist() == [number]
    form.tidy(fields, np.array([False, False]))
    assert len(form.kept) == 0


def test_rows_that_may_be_taken_away_are_in_memory_once() -> None:
    """As columns, which Arrow has: beside them a row had its bytes, to be found by."""
    row = t.RowType.of(("k", "v", "text"), (TEXT, LONG, TEXT))
    spec = Rank(input=row, output=row, keys=(0,), order=(Ordering(1),), end=3, strategy="retract")
    harness = harness_of(spec)
    harness.feed(*(("a", number // 10, f"row {number}") for number in range(100)))
    harness.take()
    held = [found for found in gc.get_objects() if type(found) is Ranks and len(found.items) == 100]
    assert held
    assert all(ranks.ids is None for ranks in held)
    harness.feed_changes(("-D", "a", 0, "row 1"), ("-D", "a", 0, "no such row"))
    assert [(change[0], *change[2:]) for change in harness.take()] == [("-D", 0, "row 1"), ("+I", 0, "row 3")]


def test_entries_of_both_kinds_stay_in_their_order() -> None:
    form = RanksForm(STORED_ROW, SortKeys((Ordering(2, False, False),), STORED_ROW.types), "append")
    (before3, now3), (before2, now2) = STORED["append", 3, 0], STORED["append", 2, 2]
    found: list[Ranks] = form.decode([bytes.fromhex(e) for e in (before3, now2, now3, before2)])[0]
    assert [(len(ranks.items), ranks.end) for ranks in found] == [(3, 0), (2, 2), (3, 0), (2, 2)]


def test_rows_are_packed_by_their_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's offsets have 31 bits: rows of half a megabyte are worked on few at a time."""
    row, most = t.RowType.of(("v", "s"), (LONG, TEXT)), 10_000
    arrays = [pa.array(range(200), pa.int64()), pa.array(["x" * (n * 37 % 1900) for n in range(200)])]
    monkeypatch.setattr(kept_rows, "_AT_ONCE", 1 << 12)

    def there_and_back() -> tuple[list[bytes], list[dict[str, Any]], list[int]]:
        sizes: list[int] = []
        pack = PackedRows.pack
        unpack = PackedRows.unpack

        def packing(packed: PackedRows, arrays: Any, count: int, stops: Any) -> list[bytes]:
            sizes.append(sum(array.nbytes for array in arrays))
            return pack(packed, arrays, count, stops)

        def unpacking(packed: PackedRows, pieces: Any) -> Any:
            sizes.append(sum(map(len, pieces)))
            return unpack(packed, pieces)

        with monkeypatch.context() as patch:
            patch.setattr(PackedRows, "pack", packing)
            patch.setattr(PackedRows, "unpack", unpacking)
            kept, other = KeptRows(row), KeptRows(row)
            kept.append(arrays, 200)
            pieces = kept.pack(np.arange(200), np.arange(2, 202, 2))
            numbers = other.unpack(pieces)
            assert kept.keep(np.arange(50))
        held = pa.table(other.take(numbers), ["v", "s"]).to_pylist()
        left = pa.table(kept.take(np.arange(50)), ["v", "s"]).to_pylist()
        return pieces, [*held, *left], sizes

    at_once = there_and_back()
    assert max(at_once[2]) > 100_000
    monkeypatch.setattr(kept_rows, "_AT_ONCE_BYTES", most)
    in_parts = there_and_back()
    assert in_parts[:2] == at_once[:2]
    assert max(in_parts[2]) <= most
