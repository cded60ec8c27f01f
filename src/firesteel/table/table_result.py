"""The result of a statement (PyFlink: ``pyflink.table.table_result``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from firesteel.common.columns import Columns
from firesteel.common.job_client import JobClient
from firesteel.common.types import Row, RowKind
from firesteel.connectors._shortest_floats import shortest_floats
from firesteel.program.execution import Arriving
from firesteel.sql.operators.objects import objects_of
from firesteel.sql.type_infos import type_info_of
from firesteel.sql.types import ArrayType, DataType, FloatType, MapType, RowType
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_schema import TableSchema

if TYPE_CHECKING:
    from firesteel.table.catalog import ResolvedSchema

__all__ = ["CloseableIterator", "TableResult"]

_KINDS = tuple(RowKind)


class CloseableIterator:
    """The rows of a result, as they come. Closing it ends the job."""

    def __init__(
        self, parts: Iterator[Columns], row: RowType, begin: Callable[[], None] = lambda: None
    ) -> None:
        """:param begin: what waits until there are rows to be read."""
        self._begin = begin
        self._parts = parts
        self._row = row
        self._rows: Iterator[Row] = iter(())
        self._closed = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Row:
        return self.next()

    def next(self) -> Row:
        """The next row, with its kind; ``StopIteration`` when the job has ended."""
        while True:
            for row in self._rows:
                return row
            if self._closed:
                raise StopIteration
            self._begin()
            self._rows = rows_of(next(self._parts), self._row)

    def close(self) -> None:
        """End the job if it still runs."""
        if not self._closed:
            self._closed = True
            close = getattr(self._parts, "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()


class _ResultRow(Row):
    """A row whose fields have names, and which is printed without them, as PyFlink prints rows of results."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """As rows of results in PyFlink, which have no names: by values and kind."""
        if not isinstance(other, Row):
            return NotImplemented
        return self._row_kind == other._row_kind and list(self._values) == list(other._values)

    def __hash__(self) -> int:
        plain = Row(*self._values)
        plain._row_kind = self._row_kind
        return hash(plain)

    def __repr__(self) -> str:
        return f"<Row({', '.join(map(repr, self._values))})>"


def _without_names(value: Any, data_type: Any) -> Any:
    """The value with its rows, at any depth, as they are printed."""
    if isinstance(value, Row) and isinstance(data_type, RowType):
        made = _ResultRow(*map(_without_names, value._values, data_type.types))
        made._fields, made._row_kind = value._fields, value._row_kind
        return made
    if isinstance(value, list) and isinstance(data_type, ArrayType):
        return [_without_names(v, data_type.element_type) for v in value]
    if isinstance(value, dict) and isinstance(data_type, MapType):
        return {k: _without_names(v, data_type.value_type) for k, v in value.items()}
    return value


def _has(kind: type[DataType], data_type: DataType) -> bool:
    return any(isinstance(part, kind) for part in data_type.walk())


def _values(array: Any, data_type: DataType) -> list[Any]:
    found = objects_of(array, data_type)
    if _has(FloatType, data_type):
        shorten = shortest_floats(type_info_of(data_type))
        found = found if shorten is None else list(map(shorten, found))
    return [_without_names(v, data_type) for v in found] if _has(RowType, data_type) else found


def rows_of(columns: Columns, row: RowType) -> Iterator[Row]:
    """Rows with the names of the columns, and their kinds."""
    names = list(row.names)
    values = [_values(a, d) for a, d in zip(columns.arrays, row.types, strict=True)]
    kinds = columns.kinds_or_inserts().tolist()
    fields = zip(*values, strict=True) if values else iter([()] * len(columns))
    for kind, found in zip(kinds, fields, strict=True):
        made = _ResultRow(*found)
        made._fields, made._row_kind = names, _KINDS[kind]
        yield made


class TableResult:
    """What ``execute_sql``, ``execute`` and ``execute_insert`` return.

    :param parts: the rows; they can be read once. :param client: of the job that computes them.
    """

    def __init__(
        self,
        row: RowType,
        parts: Iterator[Columns],
        *,
        kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        client: JobClient | None = None,
        schema: Any = None,
        streaming: bool = False,
        width: int = 30,
        zone: str = "UTC",
        plain: bool = False,
        null: str = "<NULL>",
    ) -> None:
        self._row = row
        self._parts = parts
        self._kind = kind
        self._client = client
        self._schema = schema
        self._streaming = streaming
        self._width = width
        self._zone = zone
        self._plain = plain
        self._null = null

    def get_job_client(self) -> JobClient | None:
        """What watches and controls the job; None: the statement started none."""
        return self._client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended; of a query, until its first row is there.

        :raises TimeoutError: it takes longer than that.
        """
        client = self._client
        if client is None:
            return
        if self._kind is ResultKind.SUCCESS_WITH_CONTENT and self._row.names and not self._is_count():
            if isinstance(self._parts, Arriving):
                self._wait_for_row(self._parts, None if timeout_ms is None else timeout_ms / 1000)
            return
        future = client.get_job_execution_result()
        future.result(None if timeout_ms is None else timeout_ms / 1000)

    def _wait_for_row(self, parts: Arriving, wait_s: float | None) -> None:
        found = parts.arrived(1, wait_s)
        if found.failure is not None and not found.records:
            raise found.failure
        if not found.records and not found.ended:
            raise TimeoutError(f"The first row has not come within {wait_s} s.")

    def _is_count(self) -> bool:
        return getattr(self._parts, "is_count", False)

    def _repr_html_(self) -> str:
        from firesteel.table._notebook import result_html

        return result_html(self._parts, self._row, self._streaming, self._zone, self._plain, self._null)

    def get_table_schema(self) -> TableSchema:
        return TableSchema._of(self._columns())

    def get_resolved_schema(self) -> ResolvedSchema:
        from firesteel.table.catalog import ResolvedSchema

        return ResolvedSchema._of(self._columns())

    def _columns(self) -> Any:
        from firesteel.sql.schema import ResolvedSchema as Logical

        return self._schema if self._schema is not None else Logical.of(self._row)

    def get_result_kind(self) -> ResultKind:
        return self._kind

    def collect(self) -> CloseableIterator:
        """The rows, as they come."""
        return CloseableIterator(self._parts, self._row, self._wait_for_counts)

    def _wait_for_counts(self) -> None:
        """An INSERT says how many rows were written when its job has ended."""
        if self._is_count() and self._client is not None:
            self._client.get_job_execution_result().result()

    def print(self) -> None:
        """Print the rows as a table, a changelog with the kinds of its rows."""
        from firesteel.table._printing import print_result

        self._wait_for_counts()
        try:
            print_result(
                self._parts,
                self._row,
                self._streaming,
                self._width,
                self._zone,
                plain=self._plain,
                null=self._null,
            )
        finally:
            close = getattr(self._parts, "close", None)
            if close is not None:
                close()
