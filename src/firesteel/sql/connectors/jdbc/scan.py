"""Tables of a database as sources: read once, in parts if there is a column to divide them by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.typeinfo import Types
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.source import JdbcQuerySource, between
from firesteel.connectors.jdbc.statements import quoted, select_statement
from firesteel.program.transformations import SourceTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.options import Option, TableOptions, integer, text
from firesteel.sql.operators import specs
from firesteel.sql.type_infos import type_info_of
from firesteel.sql.types import RowType

__all__ = ["SCAN_OPTIONS", "JdbcScan"]

_COLUMN: Final = "scan.partition.column"
_COUNT: Final = "scan.partition.num"
_LOW: Final = "scan.partition.lower-bound"
_HIGH: Final = "scan.partition.upper-bound"
_FETCH: Final = "scan.fetch-size"
_FETCH_ROWS: Final = 1000
SCAN_OPTIONS: Final[tuple[Option, ...]] = (
    text(_COLUMN),
    integer(_COUNT),
    integer(_LOW),
    integer(_HIGH),
    integer(_FETCH, 0),
)


@dataclass(frozen=True, slots=True)
class JdbcScan:
    """What reads a table. Rows outside of the bounds of its parts are not read, as in Flink."""

    context: TableContext
    connection: ConnectionOptions
    bounded = True
    changelog_mode = frozenset({"+I"})

    def check(self) -> None:
        """:raises FiresteelError: options contradict each other, or a column has a type that databases have
        not."""
        self._source(self.context.schema.source_row)

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        source_row = self.context.schema.source_row
        columns = node.columns or (0,)  # a row has a column at least
        row = RowType.of([source_row.names[c] for c in columns], [source_row.types[c] for c in columns])
        source = SourceTransformation(
            name=f"Source: {node.table.name.rpartition('.')[2]}",
            source=self._source(row),
            output_type=None,
            parallelism=self.context.options["scan.parallelism"],
        )
        spec = specs.ToColumns(output=row)
        made = run.one(node, spec, source=run.add(source, node), row=row, name="RowsToTable")
        if not node.columns:
            none = specs.Calc(input=row, output=node.row, projection=())
            made = run.one(node, none, source=made, name="Calc")
        found: Transformation = made
        return found

    def _source(self, row: RowType) -> JdbcQuerySource:
        options = self.context.options
        parts = _partitions(options)
        condition = f"{quoted(options[_COLUMN])} BETWEEN ? AND ?" if parts else ""
        types = Types.ROW_NAMED(list(row.names), [type_info_of(d) for d in row.types])
        return JdbcQuerySource(
            select_statement(options["table-name"], row.names, condition),
            types,
            self.connection,
            parts or ((),),
            options[_FETCH] or _FETCH_ROWS,
        )


def _partitions(options: TableOptions) -> tuple[tuple[Any, ...], ...]:
    keys = (_COLUMN, _COUNT, _LOW, _HIGH)
    given = [key for key in keys if key in options]
    if not given:
        return ()
    missing = [key for key in keys if key not in options]
    if missing:
        raise options.error(given[0], f"it needs {', '.join(missing)}, too", "set all of them, or none")
    count, low, high = options[_COUNT], options[_LOW], options[_HIGH]
    if low > high:
        raise options.error(_LOW, f"{low} must not be larger than '{_HIGH}', {high}")
    if count < 1:
        raise options.error(_COUNT, "it must be at least 1")
    return between(low, high, count)
