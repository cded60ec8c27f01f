"""Sources of objects as tables: those that other packages bring, which know nothing of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.program.sources import Boundedness, Source
from firesteel.program.transformations import SourceTransformation, Transformation
from firesteel.sql import physical as p, types as t
from firesteel.sql.expressions import InputRef
from firesteel.sql.operators import specs
from firesteel.sql.schema import ColumnKind
from firesteel.util.exceptions import TableException

__all__ = ["RowsSource"]


@dataclass(frozen=True, slots=True)
class RowsSource:
    """What reads a table from a source of ``Row``, tuple or dict; of a single column also of bare values.

    :param changelog_mode: the kinds of its rows.
    """

    source: Source
    changelog_mode: frozenset[str] = frozenset(("+I",))
    parallelism: int | None = None

    @property
    def bounded(self) -> bool:
        return self.source.boundedness is Boundedness.BOUNDED

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        columns = node.table.schema.source_columns
        other = [c.name for c in columns if c.kind is not ColumnKind.PHYSICAL]
        if other:
            raise TableException(
                f"Invalid metadata key for column '{other[0]}' of table '{node.table.name}'.",
                detail="a source of rows has no metadata",
                hint="leave the column out, or make it a physical one",
            )
        name = node.table.name.rpartition(".")[2]
        read = t.RowType.of([c.name for c in columns], [c.data_type for c in columns])
        source = SourceTransformation(
            name=f"Source: {name}", source=self.source, output_type=None, parallelism=self.parallelism
        )
        spec = specs.ToColumns(output=read, kinds=self.changelog_mode != {"+I"})
        rows: Transformation = run.one(node, spec, source=run.add(source, node), row=read, name="RowsToTable")
        if node.columns != tuple(range(len(columns))):
            picked = tuple(InputRef(i, read.types[i]) for i in node.columns)
            calc = specs.Calc(input=read, output=node.row, projection=picked)
            rows = run.one(node, calc, source=rows, name="Calc")
        return rows
