"""The expected values of ``operator`` are what PyFlink 2.3's coders give back for what is put in; those of
``collection`` are what ``from_collection(...).map(repr)`` prints there."""

import datetime as dt
import math
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple

import pytest

from firesteel.common import Instant, Row, RowKind, Types
from firesteel.common._coercion import compile_coercion
from firesteel.common.errors import TypeMismatchError
from firesteel.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo

PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
NAMED = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
UTC2 = dt.timezone(dt.timedelta(hours=2))


class Three(IntEnum):
    A = 3


class Sub(str):
    pass


def operator(type_info, value):
    (result,) = compile_coercion(type_info)([value])
    return result


def collection(type_info, value):
    (result,) = compile_coercion(type_info, origin="collection")([value])
    return result


CONVERTED = [
    (Types.BYTE(), 127, 127),
    (Types.BYTE(), -128, -128),
    (Types.INT(), 1.5, 1),
    (Types.INT(), -1.5, -1),
    (Types.INT(), True, 1),
    (Types.INT(), Three.A, 3),
    (Types.INT(), Decimal("1.10"), 1),
    (Types.LONG(), 2**53 + 1, 2**53 + 1),
    (Types.BIG_INT(), 2**70, 2**70),
    (Types.BOOLEAN(), 0, False),
    (Types.BOOLEAN(), 128, True),
    (Types.BOOLEAN(), 0.1, False),
    (Types.FLOAT(), 0.1, 0.10000000149011612),
    (Types.FLOAT(), 16777217, 16777216.0),
    (Types.FLOAT(), 1e300, math.inf),
    (Types.FLOAT(), -1e300, -math.inf),
    (Types.FLOAT(), Decimal("1.10"), 1.100000023841858),
    (Types.DOUBLE(), 5, 5.0),
    (Types.DOUBLE(), True, 1.0),
    (Types.DOUBLE(), 2**70, 1.1805916207174113e21),
    (Types.DOUBLE(), Decimal("1E+5"), 100000.0),
    (Types.STRING(), Sub("z"), "z"),
    (Types.CHAR(), "c", "c"),
    (Types.BIG_DEC(), 5, Decimal(5)),
    (Types.BIG_DEC(), 0.1, Decimal("0.1")),
    (Types.BIG_DEC(), "5", Decimal(5)),
    (Types.BIG_DEC(), Decimal("1.10"), Decimal("1.10")),
    (Types.SQL_DATE(), dt.datetime(2020, 1, 2, 3), dt.date(2020, 1, 2)),
    (Types.SQL_TIME(), dt.time(3, 4, 5, 678901), dt.time(3, 4, 5, 678000)),
    (Types.SQL_TIME(), dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC2), dt.time(3, 4, 5)),
    (
        Types.SQL_TIMESTAMP(),
        dt.datetime(2020, 1, 2, 3, 4, 5, 678901),
        dt.datetime(2020, 1, 2, 3, 4, 5, 678000),
    ),
    (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 2, 3, tzinfo=UTC2), dt.datetime(2020, 1, 2, 3)),
    (Types.INSTANT(), Instant(1, 5), Instant(1, 5)),
    (Types.INSTANT(), None, None),
    (PAIR, (1, "a", 2), (1, "a")),
    (Types.TUPLE([Types.FLOAT(), Types.DOUBLE()]), (0.1, 1), (0.10000000149011612, 1.0)),
    (Types.TUPLE([Types.FLOAT(), Types.FLOAT()]), (0.1, 1e300), (0.10000000149011612, math.inf)),
    (NAMED, Row(1, "a"), Row(a=1, b="a")),
    (NAMED, Row(b="a", a=1), Row(a=1, b="a")),
    (NAMED, Row(1, "a", 3), Row(a=1, b="a")),
    (NAMED, Row(None, None), Row(a=None, b=None)),
    (NAMED, Row.of_kind(RowKind.DELETE, 1, "a"), Row.of_kind(RowKind.DELETE, a=1, b="a")),
    (Types.ROW([Types.INT()]), Row(1), Row(f0=1)),
    (Types.ROW([Types.FLOAT(), Types.INT()]), Row(None, 1.5), Row(f0=None, f1=1)),
    (Types.ROW([Types.FLOAT()]), Row(0.1), Row(f0=0.10000000149011612)),
    (Types.ROW([NAMED]), Row(Row(1, "a")), Row(f0=Row(a=1, b="a"))),
    (Types.LIST(Types.INT()), [1, 2.5], [1, 2]),
    (Types.LIST(Types.BYTE()), b"ab", b"ab"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab", b"ab"),
    (Types.PRIMITIVE_ARRAY(Types.FLOAT()), [0.1], [0.10000000149011612]),
    (Types.BASIC_ARRAY(Types.INT()), [1, None], [1, None]),
    (Types.OBJECT_ARRAY(PAIR), [(1, "a"), None], [(1, "a"), None]),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1, "b": None}, {"a": 1.0, "b": None}),
    (ExternalTypeInfo(Types.FLOAT()), 0.1, 0.10000000149011612),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), dt.time(1, 2, 3, 4), dt.time(1, 2, 3, 4)),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), CONVERTED)
def test_operator_output(type_info, value, expected):
    result = operator(type_info, value)
    assert result == expected
    assert repr(result) == repr(expected)  # 1 == 1.0 == True
    if isinstance(expected, Row):
        assert result.get_row_kind() is expected.get_row_kind()
    # what was converted once stays as it is
    assert repr(operator(type_info, result)) == repr(expected)


REFUSED = [
    (Types.BYTE(), 128),
    (Types.SHORT(), -32769),
    (Types.INT(), 2**31),
    (Types.INT(), "5"),
    (Types.INT(), None),
    (Types.INT(), math.nan),
    (Types.LONG(), 2**63),
    (Types.LONG(), [1]),
    (Types.BOOLEAN(), -1),
    (Types.BOOLEAN(), 256),
    (Types.BOOLEAN(), "true"),
    (Types.FLOAT(), "1"),
    (Types.DOUBLE(), None),
    (Types.DOUBLE(), 10**400),
    (Types.STRING(), None),
    (Types.STRING(), 5),
    (Types.STRING(), b"ab"),
    (Types.BIG_DEC(), "ab"),
    (Types.BIG_DEC(), True),
    (Types.BIG_DEC(), Decimal("NaN")),
    (Types.SQL_DATE(), "2020-01-01"),
    (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 1)),
    (Types.INSTANT(), 5),
    (PAIR, [1, "a"]),
    (PAIR, Row(1, "a")),
    (PAIR, (1,)),
    (PAIR, (1, None)),
    (PAIR, None),
    (NAMED, (1, "a")),
    (NAMED, {"a": 1, "b": "x"}),
    (NAMED, Row(1)),
    (NAMED, Row(a=1)),
    (NAMED, Row("x", "y")),
    (Types.LIST(Types.INT()), (1, 2)),
    (Types.LIST(Types.INT()), [1, None]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1]),
    (Types.BASIC_ARRAY(Types.INT()), ["a"]),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
    (Types.MAP(Types.STRING(), Types.INT()), {None: 1}),
]


@pytest.mark.parametrize(("type_info", "value"), REFUSED)
def test_operator_output_that_does_not_fit(type_info, value):
    with pytest.raises(TypeMismatchError, match="does not fit the declared type"):
        operator(type_info, value)


def test_error_names_record_field_and_types():
    type_info = Types.ROW_NAMED(["key", "in"], [Types.STRING(), Types.TUPLE([Types.INT(), Types.BYTE()])])
    coerce = compile_coercion(type_info)
    with pytest.raises(TypeMismatchError) as caught:
        coerce([Row("a", (1, 2)), Row("b", (1, 300))])
    text = str(caught.value)
    assert "300 does not fit the declared type Byte" in text
    assert "record 1 of the batch, field .in[1]" in text
    assert "Row('b', (1, 300))" in text


def test_error_index_of_generated_loops():
    for type_info, good, bad in (
        (PAIR, (1, "a"), (1, 2)),
        (Types.TUPLE([Types.FLOAT()]), (1.5,), ("x",)),
        (NAMED, Row(1, "a"), Row(1, 2)),
        (Types.FLOAT(), 1.5, "x"),
        (Types.INT(), 1, "x"),
    ):
        with pytest.raises(TypeMismatchError, match="record 2 of the batch"):
            compile_coercion(type_info)([good, good, bad, good])


def test_nothing_to_do():
    assert compile_coercion(None) is None
    assert compile_coercion(Types.PICKLED_BYTE_ARRAY()) is None
    assert compile_coercion(PAIR)([(1, "a"), (2, "b")]) == [(1, "a"), (2, "b")]
    pickled = Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.INT()])
    anything = object()
    assert operator(pickled, (anything, 1.0)) == (anything, 1)
    assert compile_coercion(PAIR)([]) == []


def test_values_of_subclasses_become_plain():
    class Number(int): ...

    class Real(float): ...

    class Text(str): ...

    class Pair(NamedTuple):
        a: int
        b: str

    types = [Types.LONG(), Types.DOUBLE(), Types.STRING(), Types.BOOLEAN()]
    for declared, value in zip(types, [Number(1), Real(2.5), Text("c"), True], strict=True):
        (alone,) = compile_coercion(declared)([value])
        ((inside, _),) = compile_coercion(Types.TUPLE([declared, Types.INT()]))([(value, 0)])
        for got in (alone, inside):
            assert got == value
            assert type(got) in (int, float, str, bool)
    with pytest.raises(TypeMismatchError, match="expected tuple"):
        compile_coercion(PAIR)([(1, "a"), Pair(1, "a")])
    with pytest.raises(TypeMismatchError, match="expected tuple"):
        compile_coercion(PAIR)([[1, "a"]])


def test_records_are_not_changed_in_place():
    row, inner = Row(1, 0.1), [0.1]
    compile_coercion(Types.ROW([Types.INT(), Types.FLOAT()]))([row])
    compile_coercion(Types.LIST(Types.FLOAT()))([inner])
    assert repr(row) == "<Row(1, 0.1)>"
    assert inner == [0.1]


FROM_COLLECTION = [
    (Types.FLOAT(), 0.1, 0.10000000149011612),
    (Types.STRING(), 5, "5"),
    (Types.SQL_TIME(), dt.time(3, 4, 5, 678901), dt.time(3, 4, 5, 678000)),
    (Types.INSTANT(), Instant(1, 5), Instant(1, 0)),
    (PAIR, [1, "a"], (1, "a")),
    (PAIR, Row(1, "a"), (1, "a")),
    (PAIR, (1, 2), (1, "2")),
    (NAMED, (1, "a"), Row(a=1, b="a")),
    (NAMED, [1, "a"], Row(a=1, b="a")),
    (NAMED, {"a": 1}, Row(a=1, b=None)),
    (NAMED, Row(b="a", a=1), Row(a=1, b="a")),
    (NAMED, (None, None), Row(a=None, b=None)),
    (Types.ROW([Types.INT(), NAMED]), (1, (2, "b")), Row(f0=1, f1=Row(a=2, b="b"))),
    (Types.TUPLE([Types.INT(), PAIR]), (1, [2, "x"]), (1, (2, "x"))),
    (Types.PRIMITIVE_ARRAY(Types.INT()), (1, 2), [1, 2]),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), FROM_COLLECTION)
def test_collection(type_info, value, expected):
    assert repr(collection(type_info, value)) == repr(expected)


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.INT(), 1.5),
        (Types.INT(), 2**31),  # wraps around to -2**31 in PyFlink
        (Types.BYTE(), 300),
        (Types.BOOLEAN(), 1),
        (Types.STRING(), None),
        (PAIR, (1,)),
        (PAIR, (1, "a", 2)),
        (PAIR, ("x", "a")),
        (NAMED, (1,)),
        (NAMED, (1, "a", 3)),
        (NAMED, ("x", "a")),  # the field becomes None in PyFlink
        (NAMED, 5),
    ],
)
def test_collection_that_does_not_fit(type_info, value):
    with pytest.raises(TypeMismatchError):
        collection(type_info, value)
