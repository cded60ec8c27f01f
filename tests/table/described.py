"""A function that statements name."""

from __future__ import annotations

from firesteel.table import DataTypes
from firesteel.table.udf import udf


@udf(result_type=DataTypes.BIGINT())
def plus_one(number: int) -> int:
    return number + 1
