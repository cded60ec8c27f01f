"""Types of columns, and values of them: for tests of rows in state."""

from __future__ import annotations

import datetime as dt
from typing import Any

from hypothesis import strategies as st

from firesteel.sql import types as t


def _to_the_millisecond(value: Any) -> Any:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
_INSTANTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
_NUMBERS = st.none() | st.integers(0, 9)

#: Types, and their values as Arrow takes them.
VALUES: dict[str, tuple[t.DataType, st.SearchStrategy[Any]]] = {
    "BOOLEAN": (t.BooleanType(), st.booleans()),
    "TINYINT": (t.TinyIntType(), st.integers(-(2**7), 2**7 - 1)),
    "SMALLINT": (t.SmallIntType(), st.integers(-(2**15), 2**15 - 1)),
    "INT": (t.IntType(), st.integers(-(2**31), 2**31 - 1)),
    "BIGINT": (t.BigIntType(), st.integers(-(2**63), 2**63 - 1)),
    "FLOAT": (t.FloatType(), st.floats(width=32)),
    "DOUBLE": (t.DoubleType(), st.floats()),
    "DECIMAL": (t.DecimalType(precision=20, scale=3), st.decimals(-(10**16), 10**16, places=3)),
    "DATE": (t.DateType(), st.dates()),
    "TIME": (t.TimeType(), st.times().map(_to_the_millisecond)),
    "TIMESTAMP": (t.TimestampType(precision=3), _INSTANTS.map(_to_the_millisecond)),
    "STRING": (t.VarCharType(), _TEXTS),
    "BYTES": (t.VarBinaryType(), st.binary(max_size=20)),
    "ARRAY": (t.ArrayType(element_type=t.IntType()), st.lists(_NUMBERS, max_size=3)),
    "MAP": (
        t.MapType(key_type=t.VarCharType(), value_type=t.DecimalType(precision=5, scale=1)),
        st.dictionaries(_TEXTS, st.none() | st.decimals(-99, 99, places=1), max_size=2).map(
            lambda pairs: list(pairs.items())
        ),
    ),
    "MULTISET": (t.MultisetType(element_type=t.IntType()), st.just([(1, 2)]) | st.just([])),
    "ROW": (
        t.RowType.of(("i", "x"), (t.IntType(), t.ArrayType(element_type=t.VarCharType()))),
        st.fixed_dictionaries({"i": _NUMBERS, "x": st.none() | st.lists(st.none() | _TEXTS, max_size=2)}),
    ),
    "NULL": (t.NullType(), st.none()),
}
