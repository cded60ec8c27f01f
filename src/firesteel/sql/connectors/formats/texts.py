"""Columns as text, as Flink's formats write values: without what CAST would add."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.cast import cast_column

__all__ = ["NUMBERS", "TIMES", "plain_texts", "short_decimal", "short_decimals"]

NUMBERS: Final = (
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.FloatType,
    t.DoubleType,
    t.DecimalType,
)
TIMES: Final = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
_TEXT: Final = t.VarCharType(t.MAX_LENGTH)


#: Stripped texts that BigDecimal writes with an exponent: whole ones that end with 0, and very small ones.
_WITH_EXPONENT: Final = r"^-?([1-9]\d*0|0\.0{6}.*)$"
_WIDE: Final = Context(prec=76)


def short_decimals(array: pa.Array) -> pa.Array:
    """The texts of decimals without zeros at their ends, as Jackson writes them: ``1.1``, ``1E+2``."""
    texts = cast_column(array, t.DecimalType(38, array.type.scale), _TEXT, "UTC")
    texts = pc.replace_substring_regex(texts, r"^(-?\d+\.\d*?)0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"\.$", "")
    special = pc.match_substring_regex(texts, _WITH_EXPONENT)
    if not pc.any(special).as_py():
        return texts
    found = [None if v is None else short_decimal(Decimal(v)) for v in texts.to_pylist()]
    return pa.array(found, pa.string())


def short_decimal(value: Decimal) -> str:
    """The same of one."""
    return str(value.normalize(_WIDE))


def plain_texts(array: pa.Array, data_type: t.DataType, separator: str = " ") -> pa.Array | None:
    """The texts of a column of numbers, booleans, times or texts; None for other types.

    :param separator: between the date and the time of day.
    """
    if isinstance(data_type, t.CharType | t.VarCharType):
        return array
    if isinstance(data_type, t.BooleanType):
        return array.cast(pa.string())
    if isinstance(data_type, t.FloatType | t.DoubleType | t.DecimalType):
        return cast_column(array, data_type, _TEXT, "UTC")
    if isinstance(data_type, (*NUMBERS, t.DateType)):
        return array.cast(pa.string())
    if not isinstance(data_type, TIMES):
        return None
    zoned = isinstance(data_type, t.LocalZonedTimestampType)
    if zoned:
        array = array.cast(pa.timestamp(array.type.unit))
    texts = array.cast(pa.string())
    if separator != " ":
        texts = pc.replace_substring(texts, " ", separator)
    texts = pc.replace_substring_regex(texts, r"(\.\d*[1-9])0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"\.0+$", "")
    return pc.binary_join_element_wise(texts, "Z", "") if zoned else texts
