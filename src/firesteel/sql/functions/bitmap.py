"""BITMAP_*: functions of bitmaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from firesteel.sql import bitmaps as b, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.rules import BIGINT, BINARY, BITMAP, BYTES, INT, STRING, Argument, strict, takes

_TYPE = t.BitmapType()


def _integers() -> Argument:
    def accept(given: t.DataType) -> t.DataType | None:
        narrow = (t.TinyIntType, t.SmallIntType, t.IntType, t.NullType)
        if isinstance(given, t.ArrayType) and isinstance(given.element_type, narrow):
            kind = INT.with_nullability(given.element_type.nullable)
            return t.ArrayType(element_type=kind, nullable=given.nullable)
        return None

    return Argument("<ARRAY<INT>>", accept)


def _combined(function: Callable[[Any, Any], Any]) -> Callable[..., bytes]:
    return lambda site, x, y: b.to_bytes(function(b.numbers_of(x), b.numbers_of(y)))


for _name, _function, _doc in (
    ("BITMAP_AND", np.intersect1d, "The numbers that are in both bitmaps."),
    ("BITMAP_OR", np.union1d, "The numbers that are in one of the bitmaps."),
    ("BITMAP_XOR", np.setxor1d, "The numbers that are in exactly one of the bitmaps."),
    ("BITMAP_ANDNOT", np.setdiff1d, "The numbers that are in the first bitmap and not in the second."),
):
    scalar(
        _name,
        takes(BITMAP, BITMAP, result=strict(_TYPE)),
        value=_combined(_function),
        doc=_doc,
        example=f"BITMAP_TO_STRING({_name}(BITMAP_BUILD(ARRAY[1, 2]), BITMAP_BUILD(ARRAY[2, 3])))",
    )
scalar(
    "BITMAP_BUILD",
    takes(_integers(), result=strict(_TYPE)),
    value=lambda site, values: b.build(v for v in values if v is not None),
    doc="The bitmap of the numbers of an array.",
    example="BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY[1, 2, 2]))",
)
scalar(
    "BITMAP_CARDINALITY",
    takes(BITMAP, result=strict(BIGINT)),
    value=lambda site, x: b.cardinality(x),
    doc="How many numbers a bitmap has.",
    example="BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY[1, 2, 2]))",
)
scalar(
    "BITMAP_FROM_BYTES",
    takes(BINARY, result=strict(_TYPE)),
    value=lambda site, x: b.to_bytes(b.numbers_of(x)),
    doc="The bitmap of bytes in Roaring's portable form.",
    example="BITMAP_TO_STRING(BITMAP_FROM_BYTES(BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[7]))))",
)
scalar(
    "BITMAP_TO_BYTES",
    takes(BITMAP, result=strict(BYTES)),
    value=lambda site, x: x,
    doc="The bitmap as bytes in Roaring's portable form.",
    example="HEX(DECODE(BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[1])), 'ISO-8859-1'))",
)


def _to_array(_: CallSite, data: bytes) -> list[int]:
    numbers: list[int] = b.numbers_of(data).astype(np.int32).tolist()
    return numbers


scalar(
    "BITMAP_TO_ARRAY",
    takes(BITMAP, result=strict(t.ArrayType(element_type=INT))),
    value=_to_array,
    doc="The numbers of a bitmap as an array.",
    example="BITMAP_TO_ARRAY(BITMAP_BUILD(ARRAY[2, 1]))",
)
scalar(
    "BITMAP_TO_STRING",
    takes(BITMAP, result=strict(STRING)),
    value=lambda site, x: b.text_of(x),
    doc="The text of a bitmap.",
    example="BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[2, 1]))",
)
