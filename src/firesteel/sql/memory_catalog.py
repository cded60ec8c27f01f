"""The catalog in memory (Flink: ``GenericInMemoryCatalog``): the default one, gone with the session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from firesteel.sql.catalog import (
    EXISTING,
    MISSING,
    CatalogDatabase,
    CatalogError,
    CatalogFunction,
    CatalogModel,
    CatalogTable,
    DatabaseNotEmptyError,
    DatabaseNotFoundError,
    InvalidPartitionError,
    NotPartitionedError,
    ObjectExistsError,
    ObjectNotFoundError,
    PartitionNotFoundError,
    PartitionSpec,
    TableKind,
)
from firesteel.sql.statistics import TableStatistics, together

__all__ = ["MemoryCatalog"]

T = TypeVar("T")
_Key = frozenset[tuple[str, str]]


@dataclass(slots=True)
class _Database:
    definition: CatalogDatabase
    tables: dict[str, CatalogTable] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)
    partitions: dict[str, dict[_Key, tuple[PartitionSpec, Mapping[str, str]]]] = field(default_factory=dict)
    statistics: dict[str, dict[_Key, TableStatistics]] = field(default_factory=dict)  # no key: of the table


class MemoryCatalog:
    """A ``Catalog`` whose objects are kept in this process. Names of functions do not depend on case."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        self.name = name
        self._default = default_database
        self._databases: dict[str, _Database] = {default_database: _Database(CatalogDatabase())}

    @property
    def default_database(self) -> str:
        return self._default

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    # ---- databases

    def list_databases(self) -> list[str]:
        return sorted(self._databases)

    def get_database(self, name: str) -> CatalogDatabase:
        return self._database(name).definition

    def database_exists(self, name: str) -> bool:
        return name in self._databases

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if name not in self._databases:
            self._databases[name] = _Database(database)
        elif not ignore_if_exists:
            raise EXISTING["Database"](f"Database {name} already exists in Catalog {self.name}.")

    def drop_database(self, name: str, ignore_if_not_exists: bool, cascade: bool) -> None:
        database = self._databases.get(name)
        if database is None:
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        if name == self._default:
            raise CatalogError(f"The default database {name} of catalog {self.name} cannot be dropped.")
        if not cascade and (database.tables or database.functions or database.models):
            raise DatabaseNotEmptyError(
                f"Database {name} in catalog {self.name} is not empty.", hint="DROP DATABASE ... CASCADE"
            )
        del self._databases[name]

    def alter_database(self, name: str, database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        if name in self._databases:
            self._databases[name].definition = database
        elif not ignore_if_not_exists:
            raise self._no_database(name)

    # ---- tables and views

    def list_tables(self, database: str) -> list[str]:
        return sorted(self._database(database).tables)

    def list_views(self, database: str) -> list[str]:
        tables = self._database(database).tables
        return sorted(name for name, table in tables.items() if table.kind is TableKind.VIEW)

    def get_table(self, database: str, name: str) -> CatalogTable:
        return self._get(self._home(database).tables, database, name, "Table (or view)")

    def table_exists(self, database: str, name: str) -> bool:
        return self.database_exists(database) and name in self._databases[database].tables

    def create_table(self, database: str, name: str, table: CatalogTable, ignore_if_exists: bool) -> None:
        self._create(
            self._database(database).tables, database, name, table, ignore_if_exists, "Table (or view)"
        )

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        home = self._home(database)
        self._drop(home.tables, database, name, ignore_if_not_exists, "Table (or view)")
        home.partitions.pop(name, None)
        home.statistics.pop(name, None)

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        home = self._home(database)
        self._rename(home.tables, database, name, new_name, ignore_if_not_exists, "Table (or view)")
        if name in home.partitions:
            home.partitions[new_name] = home.partitions.pop(name)
        if name in home.statistics:
            home.statistics[new_name] = home.statistics.pop(name)

    def alter_table(self, database: str, name: str, table: CatalogTable, ignore_if_not_exists: bool) -> None:
        self._alter(
            self._home(database).tables, database, name, table, ignore_if_not_exists, "Table (or view)"
        )

    # ---- partitions

    def list_partitions(
        self, database: str, name: str, spec: PartitionSpec | None = None
    ) -> list[PartitionSpec]:
        self.get_table(database, name)
        kept = self._database(database).partitions.get(name, {})
        wanted = frozenset((spec or {}).items())
        return [dict(partition) for key, (partition, _) in kept.items() if wanted <= key]

    def create_partition(
        self, database: str, name: str, spec: PartitionSpec, properties: Mapping[str, str], ignore: bool
    ) -> None:
        table = self.get_table(database, name)
        if not table.partition_keys:
            raise NotPartitionedError(
                f"The table {database}.{name} has no partitions.", hint="CREATE TABLE ... PARTITIONED BY"
            )
        if set(spec) != set(table.partition_keys):
            raise InvalidPartitionError(
                f"The partition {dict(spec)} does not fit the table {database}.{name}.",
                detail=f"it is partitioned by {', '.join(table.partition_keys)}",
            )
        kept = self._database(database).partitions.setdefault(name, {})
        key = frozenset(spec.items())
        if key not in kept:
            kept[key] = (dict(spec), dict(properties))
        elif not ignore:
            raise EXISTING["Partition"](f"Partition {dict(spec)} of {database}.{name} already exists.")

    def get_partition(self, database: str, name: str, spec: PartitionSpec) -> Mapping[str, str]:
        found = self._home(database).partitions.get(name, {}).get(frozenset(spec.items()))
        if found is None:
            raise self._no_partition(database, name, spec)
        return found[1]

    def drop_partition(self, database: str, name: str, spec: PartitionSpec, ignore: bool) -> None:
        kept = self._home(database).partitions.get(name, {})
        if kept.pop(frozenset(spec.items()), None) is None and not ignore:
            raise self._no_partition(database, name, spec)

    def _no_partition(self, database: str, name: str, spec: PartitionSpec) -> PartitionNotFoundError:
        return PartitionNotFoundError(f"Partition {dict(spec)} of {database}.{name} does not exist.")

    # ---- statistics

    def get_statistics(
        self, database: str, name: str, partition: PartitionSpec | None = None
    ) -> TableStatistics | None:
        self.get_table(database, name)
        kept = self._database(database).statistics.get(name, {})
        if partition is not None:
            return kept.get(frozenset(partition.items()))
        return kept.get(frozenset()) or together(kept.values())

    def set_statistics(
        self, database: str, name: str, statistics: TableStatistics, partition: PartitionSpec | None = None
    ) -> None:
        self.get_table(database, name)
        kept = self._database(database).statistics.setdefault(name, {})
        kept[frozenset((partition or {}).items())] = statistics

    # ---- functions

    def list_functions(self, database: str) -> list[str]:
        return sorted(self._database(database).functions)

    def get_function(self, database: str, name: str) -> CatalogFunction:
        return self._get(self._home(database).functions, database, name.lower(), "Function")

    def function_exists(self, database: str, name: str) -> bool:
        return self.database_exists(database) and name.lower() in self._databases[database].functions

    def create_function(
        self, database: str, name: str, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        home = self._database(database).functions
        self._create(home, database, name.lower(), function, ignore_if_exists, "Function")

    def alter_function(
        self, database: str, name: str, function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        home = self._home(database).functions
        self._alter(home, database, name.lower(), function, ignore_if_not_exists, "Function")

    def drop_function(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        home = self._home(database).functions
        self._drop(home, database, name.lower(), ignore_if_not_exists, "Function")

    # ---- models

    def list_models(self, database: str) -> list[str]:
        return sorted(self._database(database).models)

    def get_model(self, database: str, name: str) -> CatalogModel:
        return self._get(self._home(database).models, database, name, "Model")

    def model_exists(self, database: str, name: str) -> bool:
        return self.database_exists(database) and name in self._databases[database].models

    def create_model(self, database: str, name: str, model: CatalogModel, ignore_if_exists: bool) -> None:
        self._create(self._database(database).models, database, name, model, ignore_if_exists, "Model")

    def alter_model(self, database: str, name: str, model: CatalogModel, ignore_if_not_exists: bool) -> None:
        self._alter(self._home(database).models, database, name, model, ignore_if_not_exists, "Model")

    def rename_model(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None:
        home = self._home(database).models
        self._rename(home, database, name, new_name, ignore_if_not_exists, "Model")

    def drop_model(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        self._drop(self._home(database).models, database, name, ignore_if_not_exists, "Model")

    # ---- what they share

    def _database(self, name: str) -> _Database:
        database = self._databases.get(name)
        if database is None:
            raise self._no_database(name)
        return database

    def _home(self, name: str) -> _Database:
        """What a database has; nothing, if it is not there: then the object is what misses."""
        return self._databases.get(name) or _Database(CatalogDatabase())

    def _no_database(self, name: str) -> DatabaseNotFoundError:
        return DatabaseNotFoundError(f"Database {name} does not exist in Catalog {self.name}.")

    def _missing(self, what: str, database: str, name: str) -> ObjectNotFoundError:
        return MISSING[what](f"{what} {database}.{name} does not exist in Catalog {self.name}.")

    def _exists(self, what: str, database: str, name: str) -> ObjectExistsError:
        return EXISTING[what](f"{what} {database}.{name} already exists in Catalog {self.name}.")

    def _get(self, home: dict[str, T], database: str, name: str, what: str) -> T:
        if name not in home:
            raise self._missing(what, database, name)
        return home[name]

    def _create(self, home: dict[str, T], database: str, name: str, item: T, ignore: bool, what: str) -> None:
        if name not in home:
            home[name] = item
        elif not ignore:
            raise self._exists(what, database, name)

    def _alter(self, home: dict[str, T], database: str, name: str, item: T, ignore: bool, what: str) -> None:
        if name in home:
            home[name] = item
        elif not ignore:
            raise self._missing(what, database, name)

    def _drop(self, home: dict[str, T], database: str, name: str, ignore: bool, what: str) -> None:
        if home.pop(name, None) is None and not ignore:
            raise self._missing(what, database, name)

    def _rename(
        self, home: dict[str, T], database: str, name: str, new_name: str, ignore: bool, what: str
    ) -> None:
        if name not in home:
            if ignore:
                return
            raise self._missing(what, database, name)
        if new_name in home:
            raise self._exists(what, database, new_name)
        home[new_name] = home.pop(name)
