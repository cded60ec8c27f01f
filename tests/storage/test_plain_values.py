"""Plain values are stored and read without pickle."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import pickletools
import re
import uuid
import zoneinfo
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import StateCorruptionError
from firesteel.common.time import Instant
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row, RowKind
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import AggregateFunction, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.jobmanager.checkpoints.storage import read_manifest
from firesteel.state._value_codec import (
    NONE_VALUE,
    decode_elements,
    decode_value,
    encode_cached,
    encode_elements,
    encode_value,
    is_none,
)
from firesteel.state.files import StateFiles
from firesteel.storage.plain_values import MARK, NotPlainError, decode_plain, encode_plain
from tests.runtime.support import LiveSource, environment, feeds, local_platform, note, notes
from tests.waiting import patience, until

HALF = "half \ud800 of a pair"
OFFSET = dt.timezone(-dt.timedelta(hours=3, microseconds=7))
TIMES = [
    dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.time(1, 2, 3, 4), dt.time(1, fold=1), dt.time(tzinfo=dt.UTC),
    dt.time(1, tzinfo=OFFSET), dt.datetime(2024, 10, 27, 2, 30, fold=1), dt.datetime.max,
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 2, 3, 4, 5, OFFSET),
    dt.timedelta(-3, 5, 7), dt.timedelta.max, dt.timedelta.min, Instant(-5, 999), Instant(2**40, 0),
]  # fmt: skip
NUMBERS = [
    0, -1, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1, 10**100, -(10**100), 1.5, -0.0, math.inf,
    True, Decimal("1.50"), Decimal("-0E+7"), Decimal("Infinity"), Decimal("-NaN12"), Decimal(10) ** 300,
]  # fmt: skip
SCALARS = [*TIMES, *NUMBERS, None, "", "text", HALF, b"", b"\x80\x05", bytearray(b"x"), uuid.UUID(int=2**127)]
COLLECTIONS = [
    [], (), {}, set(), frozenset(), [1, "a", None, b"x"], (1, (2, [3])), ((1, 2), ()), [(1, "a"), (2, None)],
    [[1], [2, [3]]], [{"a": 1}, {"b": None}], {"a": [1, {"b": (2,)}]}, {1: 2, "a": 3}, {(1, 2): {3}, None: 4},
    {True: 1, 2.5: 2, b"k": 3}, {HALF: 1, "a": HALF}, {2**70: [2**70]}, [HALF, [2**70, (HALF,)]],
    {1, "a", (2, 3)}, frozenset((1, None)), ([],), {"a": {}}, [SCALARS], (*SCALARS,),
]  # fmt: skip
ROWS = [
    Row(), Row(1, "a"), Row(a=1, b=None), Row(a=Row(1, [Row(b=dt.date(2024, 1, 1))])), Row(*SCALARS),
    Row.of_kind(RowKind.DELETE, 1, 2) if hasattr(Row, "of_kind") else Row(1, 2),
]  # fmt: skip
ROWS[1].set_row_kind(RowKind.UPDATE_BEFORE)
PLAIN = [*SCALARS, *COLLECTIONS, *ROWS]


def shape(value: Any) -> str:
    """The text of a value with all that makes it differ from others: a row has kind and names."""
    kind = type(value).__name__
    if isinstance(value, Row):
        return f"{value.get_row_kind()} {value._fields} {list(map(shape, value))}"
    if isinstance(value, (list, tuple)):
        return f"{kind} {list(map(shape, value))}"
    if isinstance(value, dict):
        return f"{kind} {[(shape(key), shape(item)) for key, item in value.items()]}"
    if isinstance(value, (set, frozenset)):
        return f"{kind} {sorted(map(shape, value))}"  # they have no order
    return f"{kind} {value!r} {getattr(value, 'fold', '')}"


def name_of(value: Any) -> str:
    """The same in all processes, which put sets in different orders."""
    shown = sorted(map(repr, value)) if isinstance(value, (set, frozenset)) else value
    return f"{shown!r:.40}"


@pytest.mark.parametrize("value", PLAIN, ids=name_of)
def test_plain_values_come_back_as_they_were_and_are_no_pickles(value: Any) -> None:
    data = encode_value(value)
    assert data[0] != 0x80
    assert shape(decode_value(data)) == shape(value)
    if value is not None:
        assert encode_cached(encode_value(value) if type(value) is bytes else value)[0] != 0x80
    elements = encode_elements([encode_value(value), 1])
    assert elements[0] != 0x80
    assert shape(decode_value(decode_elements(elements)[0])) == shape(value)


@pytest.mark.parametrize("value", PLAIN, ids=name_of)
def test_values_that_earlier_releases_have_pickled_are_read(value: Any) -> None:
    assert shape(decode_value(pickle.dumps(value, 5))) == shape(value)
    assert is_none(pickle.dumps(None, 5))
    assert is_none(NONE_VALUE)
    assert shape(decode_elements(pickle.dumps([value, 1], 5))[0]) == shape(value)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.binary(),
    st.text(st.characters(exclude_categories=())), st.dates(), st.times(), st.datetimes(), st.timedeltas(),
    st.decimals(allow_nan=False), st.uuids(),
)  # fmt: skip
keys = st.one_of(st.text(max_size=3), st.integers(), st.binary(max_size=2), st.booleans(), st.dates())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(keys, max_size=3),
        st.lists(inner, max_size=4).map(lambda items: Row(*items)),
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(values)
def test_any_plain_value_comes_back(value: Any) -> None:
    data = encode_value(value)
    assert data[0] != 0x80
    assert shape(decode_value(data)) == shape(value)


class Number(IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int


def shared() -> Any:
    one: list[int] = [1]
    return {"a": one, "b": one}


def endless() -> Any:
    one: list[Any] = []
    one.append(one)
    return one


def deep() -> Any:
    value: Any = ()
    for _ in range(100):
        value = (value,)
    return value


BERLIN = dt.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
NAMED = dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1), "named"))


@pytest.mark.parametrize(
    "value",
    [
        *(Number.ONE, [Number.ONE], Point(1), [Point(1)], defaultdict(int, a=1), OrderedDict(a=1), BERLIN),
        *(NAMED, shared(), [[1]] * 2, [(1, [2])] * 2, deep(), {"a": Number.ONE}, {Point(1): 2}),
    ],
    ids=name_of,
)
def test_what_is_not_plain_is_pickled(value: Any) -> None:
    with pytest.raises(NotPlainError):
        encode_plain(value)
    read = decode_value(encode_value(value))
    assert repr(read) == repr(value)
    assert type(read) is type(value)


def test_what_stands_in_two_places_is_still_one_object() -> None:
    read = decode_value(encode_value(shared()))
    assert read["a"] is read["b"]
    read = decode_value(encode_value(endless()))
    assert read[0] is read


@pytest.mark.parametrize(
    "data", [b"", b"\x63", b"\x01\xc1", b"\x06\x91\x01", b"\x0f\xff\xff\xff\xff", b"\x13abc"]
)
def test_damaged_values_are_errors(data: bytes) -> None:
    with pytest.raises(StateCorruptionError):
        decode_plain(bytes((MARK,)) + (data or b"\x00"))


# ---- in a savepoint

DAY = dt.date(2024, 1, 1)
MOMENT = dt.datetime(2024, 1, 1, 2, 3)
HELD = {
    "date": (Types.SQL_DATE(), DAY),
    "time": (Types.SQL_TIME(), dt.time(1, 2, 3)),
    "datetime": (Types.SQL_TIMESTAMP(), MOMENT),
    "decimal": (Types.BIG_DEC(), Decimal("1.5")),
    "big": (Types.BIG_INT(), 10**30),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"bytes"),
    "instant": (Types.INSTANT(), Instant(1, 2)),
    "tuple": (Types.TUPLE([Types.INT(), Types.SQL_DATE()]), (1, DAY)),
    "nested": (Types.TUPLE([Types.INT(), Types.TUPLE([Types.INT(), Types.STRING()])]), (1, (2, "a"))),
    "row": (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.SQL_DATE()]), Row(a=1, b=DAY)),
    "list": (Types.LIST(Types.LIST(Types.SQL_TIMESTAMP())), [[MOMENT], []]),
    "map": (Types.MAP(Types.STRING(), Types.LIST(Types.INT())), {"a": [1, 2]}),
    "any": (Types.PICKLED_BYTE_ARRAY(), {"a": [uuid.UUID(int=1), None, {1: (2, [3])}]}),
}


class Keep(AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


class HoldAll(KeyedProcessFunction):
    """Keeps a value of each type in state of each kind."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.states = {}
        for name, (type_info, _) in HELD.items():
            self.states[name] = (
                runtime_context.get_state(ValueStateDescriptor(f"{name}-value", type_info)),
                runtime_context.get_list_state(ListStateDescriptor(f"{name}-list", type_info)),
                runtime_context.get_map_state(MapStateDescriptor(f"{name}-map", Types.STRING(), type_info)),
                runtime_context.get_reducing_state(
                    ReducingStateDescriptor(f"{name}-reducing", lambda a, b: b, type_info)
                ),
                runtime_context.get_aggregating_state(
                    AggregatingStateDescriptor(f"{name}-aggregating", Keep(), type_info)
                ),
            )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        for name, (value_state, list_state, map_state, *adding) in self.states.items():
            held = HELD[name][1]
            value_state.update(held)
            list_state.add(held)
            map_state.put("k", held)
            map_state.put("none", None)
            for state in adding:
                state.add(held)
        ctx.timer_service().register_event_time_timer(1 << 40)
        note("held", value)
        yield value


def saved(tmp_path: Path) -> str:
    env = environment(1)
    unmarked = WatermarkStrategy.no_watermarks()
    live = env.from_source(LiveSource("plain", 1), unmarked, "live").uid("live")
    live.key_by(lambda v: DAY, Types.SQL_DATE()).process(HoldAll()).uid("hold").print()
    with local_platform():
        feeds["plain", 0].append((1, 0))
        client = env.execute_async("job")
        until(lambda: notes["held"])
        path: str = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(patience(20))
        return path


def pickles_in(data: bytes) -> list[bytes]:
    """Whatever in some bytes is a whole pickle."""
    starts = [match.start() for match in re.finditer(rb"\x80[\x00-\x05]", data)]
    return [data[start:] for start in starts if _is_pickle(data[start:])]


def _is_pickle(data: bytes) -> bool:
    try:
        return [opcode.name for opcode, _, _ in pickletools.genops(data)][-1] == "STOP"
    except ValueError:
        return False


def test_a_savepoint_of_plain_values_has_no_pickle_in_its_state(tmp_path: Path) -> None:
    assert pickles_in(b"x" + pickle.dumps(DAY, 5) + b"y"), "they would be found"
    manifest, files = read_manifest(saved(tmp_path)), StateFiles("/")
    runs = {ref for vertex in manifest.vertices for line in vertex.lines for ref in line.runs}
    entries = [entry for ref in runs for entry in files.open_run(ref).scan_all()]
    assert len(entries) > 6 * len(HELD)
    assert [key for key, value in entries if pickles_in(value) or pickles_in(key)] == []
