"""Streams as tables: what a ``DataStreamScan`` is made of."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final

from firesteel.common.columns import Columns
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.program.transformations import SourceTransformation, Transformation
from firesteel.sql import physical as p, types as t
from firesteel.sql.connectors.columns_source import ColumnsSource
from firesteel.sql.expressions import InputRef
from firesteel.sql.operators import specs
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.schema import ColumnKind
from firesteel.sql.translate import Translator
from firesteel.table._conversions import logical_of

__all__ = ["CollectionTable", "StreamTable", "stream_row"]

ROWTIME: Final = "rowtime"  # the metadata key of the timestamps of records


def stream_row(type_info: TypeInformation | None) -> t.RowType:
    """The columns of a stream: fields of its records, or one for the record itself."""
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        found = logical_of(type_info)
        assert isinstance(found, t.RowType)
        return found
    return t.RowType.of(["f0"], [logical_of(type_info)])


@dataclass(frozen=True, eq=False, slots=True)
class StreamTable:
    """A stream of the program.

    :param fields: the columns of its records. :param changelog_mode: the kinds of its rows.
    """

    transformation: Transformation
    fields: t.RowType
    changelog_mode: frozenset[str] = frozenset(("+I",))

    @property
    def identity(self) -> str:
        """What tells it apart from another stream of the same columns."""
        return self.transformation.uid or ""

    def build(self, run: Translator, node: p.DataStreamScan) -> Transformation:
        """The stream as columns of the table."""
        columns = node.table.schema.source_columns
        names = self.fields.names
        physical = [c for c in columns if c.kind is ColumnKind.PHYSICAL]
        by_name = {c.name for c in physical} <= set(names)
        if not by_name and len(physical) != len(names):
            gone = next(c.name for c in physical if c.name not in names)
            raise SqlValidationError(
                f"Unable to find a field named '{gone}' in the records of the stream.",
                detail=f"they have {', '.join(names)}",
                hint="declare columns of these names, or as many columns as there are fields",
            )
        types = list(self.fields.types)
        places: dict[str, int] = {}
        for i, column in enumerate(physical):
            place = names.index(column.name) if by_name else i
            types[place] = column.data_type
            places[column.name] = place
        rowtime = next((c for c in columns if c.kind is ColumnKind.METADATA), None)
        read = t.RowType.of(names, types)
        stamps = None
        if rowtime is not None:
            stamps = len(names)
            read = t.RowType.of([*names, "$rowtime"], [*types, rowtime.data_type])
        spec = specs.ToColumns(output=read, rowtime=stamps, kinds=self.changelog_mode != {"+I"})
        made = run.one(node, spec, source=self.transformation, row=read, name="DataStreamToTable")
        chosen = [columns[i] for i in node.columns]
        wanted = [places[c.name] if c.kind is ColumnKind.PHYSICAL else stamps for c in chosen]
        if wanted == list(range(len(read.fields))) and read.names == node.row.names:
            return made
        picked = tuple(InputRef(i, read.types[i]) for i in wanted if i is not None)
        calc = specs.Calc(input=read, output=node.row, projection=picked)
        return run.one(node, calc, source=made, name="Calc")


@dataclass(frozen=True, eq=False, slots=True)
class CollectionTable:
    """Rows that are part of the program. :param data: as ``ColumnsSource`` has them."""

    source: ColumnsSource
    changelog_mode: frozenset[str] = frozenset(("+I",))

    @classmethod
    def of(cls, columns: Columns, name: str = "Values") -> CollectionTable:
        return cls(ColumnsSource.of(columns, name))

    @property
    def identity(self) -> str:
        """What tells it apart from another collection of the same columns."""
        return hashlib.sha256(self.source.data).hexdigest()

    def build(self, run: Translator, node: p.DataStreamScan) -> Transformation:
        made = SourceTransformation(
            name=self.source.name,
            source=replace(self.source, columns=node.columns),
            output_type=columns_type(node.row),
            parallelism=1,
            max_parallelism=1,
        )
        return run.add(made, node)
