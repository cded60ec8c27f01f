"""The rows of a query, on their way into a DataFrame of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from firesteel.common.columns import Columns, columns_in
from firesteel.connectors._staging import StagedFiles
from firesteel.connectors.spark_sink import Batches, ParquetWriter
from firesteel.program.sinks import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_schema
from firesteel.util.exceptions import TableException

__all__ = ["ColumnsStagingSink", "refuse_what_spark_has_not"]

_MICROSECONDS: Final = 6  # what Spark's timestamps hold


@dataclass(frozen=True, slots=True)
class ColumnsStagingSink(Sink):
    """Writes inserted rows to Parquet files in ``directory``, as ``ParquetStagingSink`` does with records."""

    directory: str
    row: t.RowType

    @property
    def description(self) -> str:
        return "To Spark"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ParquetWriter(_Rows(self.row), self.directory, ".", context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return StagedFiles(self.directory)


class _Rows(Batches):
    def __init__(self, row: t.RowType) -> None:
        self.schema = arrow_schema(row)

    def batch(self, parts: Sequence[Sequence[Any]]) -> Any:
        columns = Columns.concat([columns_in(part) for part in parts])
        return pa.record_batch(list(columns.arrays), schema=self.schema)


_AS_TEXT: Final = "cast it to STRING"
_Reason = Callable[[Any], str | None]


def _fine(data_type: t.TimestampType | t.LocalZonedTimestampType) -> str | None:
    kind = "TIMESTAMP" if isinstance(data_type, t.TimestampType) else "TIMESTAMP_LTZ"
    return f"cast it to {kind}({_MICROSECONDS})" if data_type.precision > _MICROSECONDS else None


#: What to do with a column of a type, or None: Spark has this type.
_OTHERWISE: Final[dict[type[t.DataType], _Reason]] = {
    t.NullType: lambda _: "cast it to the type that it is to have",
    t.TimeType: lambda _: _AS_TEXT,
    t.TimestampType: _fine,
    t.LocalZonedTimestampType: _fine,
    t.YearMonthIntervalType: lambda _: _AS_TEXT,
    t.DayTimeIntervalType: lambda _: _AS_TEXT,
    t.VariantType: lambda _: "make text of it: JSON_STRING(column)",
    t.RawType: lambda _: "select what is in it by a function",
    t.BitmapType: lambda _: "select its values or their number",
    t.SymbolType: lambda _: _AS_TEXT,
}


def refuse_what_spark_has_not(row: t.RowType) -> None:
    """:raises TableException: a DataFrame of Spark would have less than what a column holds, or two columns
    that Spark takes for one."""
    taken: dict[str, str] = {}
    for field in row.fields:
        for part in field.data_type.walk():
            way = _OTHERWISE.get(type(part), lambda _: None)(part)
            if way is not None:
                raise TableException(
                    f"A DataFrame of Spark cannot have the column '{field.name}' as it is.",
                    detail=f"its type is {field.data_type}, and Spark has no {part}",
                    hint=way,
                )
        other = taken.setdefault(field.name.lower(), field.name)
        if other is not field.name:
            raise TableException(
                f"Spark takes the columns '{other}' and '{field.name}' for one.",
                hint="give one of them another name, by AS",
            )
