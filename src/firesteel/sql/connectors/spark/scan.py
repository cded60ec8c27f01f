"""The connector ``spark``: tables that the session of Spark knows, read once.

Spark runs what it can of the query - its columns, its partitions, comparisons - when the job is made, and
writes the rows that are left to files of columns, which the job reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from firesteel.program.execution import get_executor
from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.arrow import logical_of_arrow
from firesteel.sql.connectors.factory import TableConnector, TableContext, scan_source
from firesteel.sql.connectors.options import text
from firesteel.sql.connectors.spark.conditions import condition_text
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTOR"]


@dataclass(frozen=True, slots=True)
class _Scan:
    context: TableContext
    bounded = True
    changelog_mode = frozenset({"+I"})

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        """:raises TableException: Spark has no such table, or it has other columns."""
        table, path = self.context.table, self.context.options["table-name"]
        tables = get_executor().spark_tables(run.program)
        schema = tables.schema(path)
        if schema is None:
            raise TableException(
                f"Spark has no table {path}.",
                detail=f"the option 'table-name' of table {table.name}",
                hint="a name as Spark has it: catalog.database.table, with backquotes where it needs them",
            )
        source_row = self.context.schema.source_row
        for column in node.columns:
            self._check(schema, source_row.names[column], source_row.types[column])
        names = [source_row.names[c] for c in node.columns]
        frame = tables.frame(path, names or schema.names[:1], condition_text(node.predicates, node.row.names))
        staged = get_executor().from_spark(run.program, frame)
        options = {
            "connector": "filesystem",
            "format": "parquet",
            "path": staged.directory,
            "parquet.utc-timezone": "true",
        }
        parallelism = self.context.options["scan.parallelism"]
        if parallelism is not None:
            options["scan.parallelism"] = str(parallelism)
        files = scan_source(replace(table, options=options), self.context.configuration)
        return files.build(run, node)

    def _check(self, schema: Any, name: str, declared: Any) -> None:
        index = schema.get_field_index(name)
        found = None if index < 0 else logical_of_arrow(schema.field(index).type)
        if found is None or found.with_nullability(declared.nullable) != declared:
            there = "it has no such column" if found is None else f"there it is {found}"
            raise TableException(
                f"The column '{name}' of table {self.context.table.name} is not that of Spark's table.",
                detail=f"{there}; it is declared as {declared}",
                hint="declare it as it is there, or read the table from a catalog of 'type' = 'spark'",
            )


def scan(context: TableContext) -> _Scan:
    """Return the source of a table."""
    context.refuse_metadata("spark")
    if context.table.partition_keys:
        raise TableException(
            f"Table '{context.table.name}' is partitioned, and the connector 'spark' has no partitions.",
            hint="leave PARTITIONED BY out: Spark knows which columns are those of partitions",
        )
    return _Scan(context)


CONNECTOR: Final = TableConnector(name="spark", options=(text("table-name", required=True),), scan=scan)
