"""Catalogs that show what another system has: every change is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from firesteel.sql.catalog import (
    MISSING,
    CatalogDatabase,
    CatalogError,
    CatalogFunction,
    CatalogModel,
    CatalogTable,
    DatabaseNotFoundError,
    ObjectNotFoundError,
    PartitionNotFoundError,
    PartitionSpec,
)

__all__ = ["ReadOnlyCatalog"]


class ReadOnlyCatalog:
    """What such catalogs share: they have no views, partitions, functions and models.

    :param kind: of the catalog, for messages. :param home: where changes are made.
    """

    def __init__(self, name: str, kind: str, home: str) -> None:
        self.name = name
        self._kind = kind
        self._home = home

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def list_databases(self) -> list[str]:
        raise NotImplementedError

    def list_tables(self, database: str) -> list[str]:
        raise NotImplementedError

    def database_exists(self, name: str) -> bool:
        return name in self.list_databases()

    def get_database(self, name: str) -> CatalogDatabase:
        self.require_database(name)
        return CatalogDatabase()

    def require_database(self, name: str) -> None:
        """:raises DatabaseNotFoundError: the catalog has no database of this name."""
        if not self.database_exists(name):
            raise DatabaseNotFoundError(f"Database {name} does not exist in Catalog {self.name}.")

    def list_views(self, database: str) -> list[str]:
        self.require_database(database)
        return []

    def list_partitions(
        self, database: str, name: str, spec: PartitionSpec | None = None
    ) -> list[PartitionSpec]:
        return []

    def list_functions(self, database: str) -> list[str]:
        self.require_database(database)
        return []

    def get_function(self, database: str, name: str) -> CatalogFunction:
        raise self._missing("Function", database, name)

    def function_exists(self, database: str, name: str) -> bool:
        return False

    def list_models(self, database: str) -> list[str]:
        self.require_database(database)
        return []

    def get_model(self, database: str, name: str) -> CatalogModel:
        raise self._missing("Model", database, name)

    def model_exists(self, database: str, name: str) -> bool:
        return False

    # ---- changes

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        self._refuse("create a database")

    def drop_database(self, name: str, ignore_if_not_exists: bool, cascade: bool) -> None:
        self._refuse("drop a database")

    def alter_database(self, name: str, database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        self._refuse("alter a database")

    def create_table(self, database: str, name: str, table: CatalogTable, ignore_if_exists: bool) -> None:
        self._refuse("create a table or view", "CREATE TEMPORARY TABLE, or another catalog")

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._refuse("drop a table or view")

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        self._refuse("rename a table")

    def alter_table(self, database: str, name: str, table: CatalogTable, ignore_if_not_exists: bool) -> None:
        self._refuse("alter a table or view")

    def get_partition(self, database: str, name: str, spec: PartitionSpec) -> Mapping[str, str]:
        raise PartitionNotFoundError(f"Partition {dict(spec)} of {database}.{name} does not exist.")

    def create_partition(
        self, database: str, name: str, spec: PartitionSpec, properties: Mapping[str, str], ignore: bool
    ) -> None:
        self._refuse("create a partition")

    def drop_partition(self, database: str, name: str, spec: PartitionSpec, ignore: bool) -> None:
        self._refuse("drop a partition")

    def create_function(
        self, database: str, name: str, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        self._refuse("create a function", "CREATE TEMPORARY FUNCTION, or another catalog")

    def alter_function(
        self, database: str, name: str, function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        self._refuse("alter a function")

    def drop_function(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._refuse("drop a function")

    def create_model(self, database: str, name: str, model: CatalogModel, ignore_if_exists: bool) -> None:
        self._refuse("create a model", "another catalog")

    def alter_model(self, database: str, name: str, model: CatalogModel, ignore_if_not_exists: bool) -> None:
        self._refuse("alter a model")

    def rename_model(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        self._refuse("rename a model")

    def drop_model(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._refuse("drop a model")

    def _refuse(self, what: str, instead: str | None = None) -> NoReturn:
        raise CatalogError(
            f"The catalog {self.name} cannot {what}.",
            detail=f"a catalog of type '{self._kind}' shows what {self._home} has",
            hint=instead or f"do it in {self._home}",
        )

    def _no_table(self, database: str, name: str) -> ObjectNotFoundError:
        hint = f"its tables are {', '.join(self.list_tables(database))}"
        return self._missing("Table (or view)", database, name, hint)

    def _missing(self, what: str, database: str, name: str, hint: str | None = None) -> ObjectNotFoundError:
        return MISSING[what](f"{what} {database}.{name} does not exist in Catalog {self.name}.", hint=hint)
