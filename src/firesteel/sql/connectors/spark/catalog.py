"""``'type' = 'spark'``: what a catalog of the Spark session has, Hive's metastore among others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.common.errors import TypeMismatchError
from firesteel.program.spark_tables import SparkTables, spark_name
from firesteel.sql.arrow import logical_of_arrow
from firesteel.sql.catalog import CatalogError, CatalogTable
from firesteel.sql.read_only_catalog import ReadOnlyCatalog
from firesteel.sql.schema import DeclaredColumn, DeclaredSchema

__all__ = ["OPTIONS", "SparkCatalog", "spark_catalog"]

OPTIONS: Final = ("catalog", "default-database")
_OWN: Final = "spark_catalog"  # Spark's name of the one that each session has


class SparkCatalog(ReadOnlyCatalog):
    """Tables and views of Spark, which queries read by the connector ``spark``. Writing is Spark's: a result
    becomes a DataFrame by ``Table.to_spark()``.

    :param catalog: which catalog of the session it shows. :param tables: gives what the session knows; Spark
        is started by the first call that asks for something.
    """

    def __init__(
        self, name: str, catalog: str, default_database: str, tables: Callable[[], SparkTables]
    ) -> None:
        super().__init__(name, "spark", "Spark")
        self._catalog = catalog
        self._default = default_database
        self._tables = tables

    @property
    def default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return self._tables().databases(self._catalog)

    def list_tables(self, database: str) -> list[str]:
        self.require_database(database)
        return self._tables().tables(self._catalog, database)

    def table_exists(self, database: str, name: str) -> bool:
        return self._schema(database, name) is not None

    def get_table(self, database: str, name: str) -> CatalogTable:
        """:raises CatalogError: it is not there, or a column has a type that there is not in SQL."""
        schema = self._schema(database, name)
        if schema is None:
            raise self._no_table(database, name)
        columns = tuple(self._column(name, field) for field in schema)
        options = {"connector": "spark", "table-name": self._path(database, name)}
        return CatalogTable(DeclaredSchema(columns), options=options)

    def _column(self, table: str, field: Any) -> DeclaredColumn:
        try:
            data_type = logical_of_arrow(field.type)
        except TypeMismatchError as error:
            raise CatalogError(
                f"Column {field.name} of table {table} in catalog {self.name} cannot be read.",
                detail=str(error),
                hint="make a view of Spark without it, or with a cast",
            ) from error
        return DeclaredColumn(field.name, data_type=data_type.with_nullability(field.nullable))

    def _schema(self, database: str, name: str) -> Any:
        return self._tables().schema(self._path(database, name))

    def _path(self, database: str, name: str) -> str:
        return spark_name(self._catalog, database, name)


def spark_catalog(name: str, options: Mapping[str, str], tables: Callable[[], SparkTables]) -> SparkCatalog:
    """Return the catalog of CREATE CATALOG."""
    catalog, database = options.get("catalog", _OWN), options.get("default-database", "default")
    return SparkCatalog(name, catalog, database, tables)
