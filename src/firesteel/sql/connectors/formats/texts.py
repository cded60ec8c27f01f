"""Columns as text, as Flink's formats write values: without what CAST would add."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.cast import cast_column

__all__ = ["NUMBERS", "TIMES", "plain_texts"]

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
