"""Collections as tables that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firesteel.connectors.mongodb.sink import MongoOptions
from firesteel.connectors.mongodb.source import ID, Documents, MongoCollectionSource
from firesteel.program.transformations import SourceTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.mongodb.values import reader
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.types import RowType

__all__ = ["MongoScan"]


@dataclass(frozen=True, slots=True)
class _Rows:
    """:param row: the columns that are read."""

    row: RowType

    def make(self) -> Callable[[Documents], Any]:
        fields = [(f.name, reader(f.data_type)) for f in self.row.fields]

        def rows(documents: Documents) -> Any:  # hot
            return columns_of(
                [tuple(read(d.get(name)) for name, read in fields) for d in documents], self.row
            )

        return rows


@dataclass(frozen=True, slots=True)
class MongoScan:
    """What reads a table."""

    context: TableContext
    options: MongoOptions
    bounded = True
    changelog_mode = frozenset({"+I"})

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        options = self.context.options
        source = MongoCollectionSource(
            self.options,
            _Rows(node.row),
            node.row.names or (ID,),
            options["scan.fetch-size"],
            options["scan.cursor.no-timeout"],
        )
        made = SourceTransformation(
            name=f"Source: {node.table.name.rpartition('.')[2]}",
            source=source,
            output_type=columns_type(node.row),
            parallelism=options["scan.parallelism"],
        )
        found: Transformation = run.add(made, node)
        return found
