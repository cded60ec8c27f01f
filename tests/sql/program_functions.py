"""The users' functions of the recorded programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.table import DataTypes
from firesteel.table.udf import AggregateFunction, udaf, udf, udtf


def _pieces(text: str, prefix: str = "") -> Iterator[str]:
    if "#" in text:
        yield from (prefix + part for part in text.split("#"))


def _split(text: str | None = None, separator: str = ",", start: int = 0) -> Iterator[str]:
    yield from [part for part in (text or "").split(separator) if part][max(start, 0) :]


def _lengths(*texts: str | None) -> Iterator[int]:
    yield sum(len(text or "") for text in texts)


class _WeightedAverage(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def get_value(self, accumulator: list[int]) -> int | None:
        total, weights = accumulator
        if not weights:
            return None
        return int(total / weights) if total * weights < 0 else total // weights

    def accumulate(
        self, accumulator: list[int], value: int, weight: int, _: Any = None, more: Any = None
    ) -> None:
        accumulator[0] += (value + int(more or 0)) * weight
        accumulator[1] += weight

    def retract(
        self, accumulator: list[int], value: int, weight: int, _: Any = None, more: Any = None
    ) -> None:
        accumulator[0] -= (value + int(more or 0)) * weight
        accumulator[1] -= weight

    def merge(self, accumulator: list[int], others: Any) -> None:
        for other in others:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


def function_named(name: str) -> Any:
    """The function that stands for a class of Flink's tests."""
    match name.split(".")[-1].split("$")[-1]:
        case "JavaFunc0" | "AsyncJavaFunc0":
            return udf(lambda x: x + 1, result_type=DataTypes.BIGINT())
        case "TableFunc1":
            return udtf(_pieces, result_types=[DataTypes.STRING()])
        case "StringSplit" | "AsyncStringSplit":
            return udtf(_split, result_types=[DataTypes.STRING()])
        case "JavaTableFunc1":
            return udtf(_lengths, result_types=[DataTypes.INT()])
        case "WeightedAvg" | "WeightedAvgWithMerge":
            accumulator = DataTypes.ARRAY(DataTypes.BIGINT())
            return udaf(_WeightedAverage(), result_type=DataTypes.BIGINT(), accumulator_type=accumulator)
    raise AssertionError(f"there is no function for {name}")
