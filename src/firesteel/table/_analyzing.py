"""ANALYZE TABLE: counts rows and values by a query, and keeps what it finds in the catalog of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql import types as t
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.schema import ColumnKind
from firesteel.sql.statistics import ColumnStatistics, KeepsStatistics, TableStatistics
from firesteel.table._collections import ok
from firesteel.table._create_texts import literal, quoted
from firesteel.table.table_result import TableResult
from firesteel.util.exceptions import TableException

__all__ = ["analyze"]

_NUMBERS: Final = (
    *(t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.FloatType, t.DoubleType, t.DecimalType),
    *(t.DateType, t.TimestampType, t.LocalZonedTimestampType),
)
#: Of these there may be few values, but no order that an estimate knows.
_COUNTED: Final = (*_NUMBERS, t.BooleanType, t.CharType, t.VarCharType, t.TimeType)


def analyze(env: Any, statement: s.AnalyzeTable, sql: str) -> TableResult:
    """
    :raises SqlValidationError: there is no such table, partition or column.
    :raises TableException: in a stream, or the catalog of the table keeps no statistics.
    """
    session = env._session
    found = session.catalogs.find_table(statement.path)
    if found is None or found.temporary:
        path = session.catalogs.path(statement.path)
        raise SqlValidationError(f"Table {path} doesn't exist or is a temporary table.", detail=sql)
    _check_partition(found, statement)
    columns = _columns(found, statement)
    if not session.batch:
        raise TableException(
            "ANALYZE TABLE is not supported for streaming mode now", hint="run it in batch mode"
        )
    catalog = session.catalogs.catalog(found.path.catalog)
    if not isinstance(catalog, KeepsStatistics):
        raise TableException(
            f"The catalog {found.path.catalog} keeps no statistics.",
            hint="only tables of a catalog in memory can be analyzed",
        )
    place = (found.path.database, found.path.name)
    for partition, gathered in _gathered(env, found, statement.partition, columns):
        before = catalog.get_statistics(*place, partition)
        known = {} if before is None else before.columns
        catalog.set_statistics(*place, replace(gathered, columns={**known, **gathered.columns}), partition)
    return ok(env)


def _columns(found: Any, statement: s.AnalyzeTable) -> list[str]:
    """Those whose values are counted: none where the statement has no FOR, all where it names none."""
    known = {column.name: column for column in found.table.schema.columns}
    if statement.columns is None:
        return []
    if not statement.columns:
        return [name for name, column in known.items() if column.kind is ColumnKind.PHYSICAL]
    for name in statement.columns:
        if name not in known:
            raise SqlValidationError(
                f"Column: {name} does not exist in the table: {found.path}.",
                detail=f"its columns are {', '.join(known)}",
            )
        if known[name].kind is not ColumnKind.PHYSICAL:
            raise SqlValidationError(
                f"Column: {name} is a {known[name].kind.value} column, ANALYZE TABLE does not support "
                f"{known[name].kind.value} column."
            )
    return list(statement.columns)


def _gathered(
    env: Any, found: Any, partition: Mapping[str, str | None], names: Sequence[str]
) -> Iterator[tuple[dict[str, str] | None, TableStatistics]]:
    """What a query finds, of each partition that is meant; None: the table has none."""
    row = env._session.query(f"SELECT * FROM {found.path}").row
    types = dict(zip(row.names, row.types, strict=True))
    columns = {name: types[name] for name in names}
    keys = [quoted(key) for key in partition]
    calls = ["COUNT(*)", *(call for name, type_ in columns.items() for call in _calls(name, type_))]
    query = f"SELECT {', '.join([*keys, *calls])} FROM {found.path}"
    wanted = [
        f"CAST({quoted(key)} AS STRING) = {literal(value)}"
        for key, value in partition.items()
        if value is not None
    ]
    query += f" WHERE {' AND '.join(wanted)}" if wanted else ""
    query += f" GROUP BY {', '.join(keys)}" if keys else ""
    with env.execute_sql(query).collect() as rows:
        for values in map(list, list(rows)):
            which = dict(zip(partition, map(str, values), strict=False)) if keys else None
            yield which, _statistics(columns, values[len(keys) :])


def _calls(column: str, type_: t.DataType) -> list[str]:
    """Always as many, so that each column has its place in the row."""
    name = quoted(column)
    counts = f"COUNT(DISTINCT {name})" if isinstance(type_, _COUNTED) else "CAST(NULL AS BIGINT)"
    ends = [f"MIN({name})", f"MAX({name})"] if isinstance(type_, _NUMBERS) else ["MIN(1)", "MAX(1)"]
    return [f"COUNT({name})", counts, *ends]


def _statistics(columns: Mapping[str, t.DataType], values: Sequence[Any]) -> TableStatistics:
    rows, found = values[0], {}
    for number, (name, type_) in enumerate(columns.items()):
        filled, distinct, low, high = values[1 + 4 * number : 5 + 4 * number]
        ends = (low, high) if isinstance(type_, _NUMBERS) else (None, None)
        found[name] = ColumnStatistics(distinct, rows - filled, *ends)
    return TableStatistics(rows, found)


def _check_partition(found: Any, statement: s.AnalyzeTable) -> None:
    wanted, given = list(found.table.partition_keys), list(statement.partition)
    if given and not wanted:
        raise SqlValidationError(
            f"Invalid ANALYZE TABLE statement. Table: {found.path} is not a partition table, "
            "while partition values are given."
        )
    if sorted(given) != sorted(wanted):
        raise SqlValidationError(
            "Invalid ANALYZE TABLE statement. For partition table, all partition keys should be specified "
            f"explicitly. The given partition keys: [{', '.join(given)}] are not match the target partition "
            f"keys: [{', '.join(wanted)}]."
        )
