"""ANALYZE TABLE: checked as in Flink; statistics are not gathered, as nothing here would use them."""

from __future__ import annotations

from typing import Any

from firesteel.common.logs import logger
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table._collections import ok
from firesteel.table.table_result import TableResult
from firesteel.util.exceptions import TableException

__all__ = ["analyze"]

log = logger(__name__)


def analyze(env: Any, statement: s.AnalyzeTable, sql: str) -> TableResult:
    """
    :raises SqlValidationError: there is no such table, partition or column.
    :raises TableException: in a stream.
    """
    found = env._session.catalogs.find_table(statement.path)
    if found is None or found.temporary:
        path = env._session.catalogs.path(statement.path)
        raise SqlValidationError(f"Table {path} doesn't exist or is a temporary table.", detail=sql)
    _check_partition(found, statement)
    known = [column.name for column in found.table.schema.columns]
    for name in statement.columns or ():
        if name not in known:
            raise SqlValidationError(
                f"Column: {name} does not exist in the table: {found.path}.",
                detail=f"its columns are {', '.join(known)}",
            )
    if not env._session.batch:
        raise TableException(
            "ANALYZE TABLE is not supported for streaming mode now", hint="run it in batch mode"
        )
    log.warning(
        "ANALYZE TABLE %s gathers no statistics: joins stay in the order in which they are written.",
        found.path,
    )
    return ok(env)


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
