"""The tables that a session knows by name, for queries that read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import to_arrow_schema

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.program.spark_tables import spark_name

if TYPE_CHECKING:
    import pyarrow as pa


class SessionTables:
    """Implements ``program.spark_tables.SparkTables``.

    :param session: gives the session that there is: it may be another one than before.
    """

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session

    def databases(self, catalog: str) -> list[str]:
        return [row[0] for row in self._session().sql(f"SHOW NAMESPACES IN {spark_name(catalog)}").collect()]

    def tables(self, catalog: str, database: str) -> list[str]:
        rows = self._session().sql(f"SHOW TABLES IN {spark_name(catalog, database)}").collect()
        return sorted(row.tableName for row in rows if not row.isTemporary)

    def schema(self, name: str) -> pa.Schema | None:
        session = self._session()
        if not session.catalog.tableExists(name):
            return None
        try:
            return to_arrow_schema(session.table(name).schema, timezone="UTC")
        except PySparkTypeError as error:
            raise UnsupportedFeatureError(
                f"A column of Spark's table {name} has a type that cannot be read.",
                detail=str(error),
                hint="make a view of Spark without it, or with a cast",
            ) from error

    def frame(self, name: str, columns: Sequence[str], condition: str) -> DataFrame:
        frame = self._session().table(name)
        if condition:
            frame = frame.where(condition)
        return frame.select([col(spark_name(column)) for column in columns])
