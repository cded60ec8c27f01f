"""Catalogs and what is in them (PyFlink: ``pyflink.table.catalog``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import TypeMismatchError, UnsupportedFeatureError
from firesteel.sql import catalog as logical
from firesteel.sql.statistics import ColumnStatistics, KeepsStatistics, TableStatistics
from firesteel.table._catalog_objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    Procedure,
)
from firesteel.table._catalog_statistics import CatalogColumnStatistics, CatalogTableStatistics
from firesteel.table._object_names import ObjectIdentifier, ObjectPath
from firesteel.table._schema_objects import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "Column",
    "ColumnStatistics",
    "ComputedColumn",
    "Constraint",
    "HiveCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "Procedure",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class CatalogDescriptor:
    """A catalog that is to be created: its options and a comment. Made by ``of``."""

    def __init__(self, name: str, options: dict[str, str], comment: str | None = None) -> None:
        self._name = name
        self._options = options
        self._comment = comment

    @staticmethod
    def of(catalog_name: str, configuration: Any, comment: str | None = None) -> CatalogDescriptor:
        options = {k: str(v) for k, v in configuration.to_dict().items()}
        return CatalogDescriptor(catalog_name, options, comment)


class Catalog:
    """Databases, and tables, views, functions and models in them."""

    def __init__(self, catalog: logical.Catalog) -> None:
        self._catalog = catalog

    # ---- databases

    def get_default_database(self) -> str:
        return self._catalog.default_database

    def list_databases(self) -> list[str]:
        return self._catalog.list_databases()

    def get_database(self, database_name: str) -> CatalogDatabase:
        return CatalogDatabase(self._catalog.get_database(database_name))

    def database_exists(self, database_name: str) -> bool:
        return self._catalog.database_exists(database_name)

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        self._catalog.create_database(name, database._database, ignore_if_exists)

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        self._catalog.drop_database(name, ignore_if_exists, False)

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        self._catalog.alter_database(name, new_database._database, ignore_if_not_exists)

    # ---- tables and views

    def list_tables(self, database_name: str) -> list[str]:
        return self._catalog.list_tables(database_name)

    def list_views(self, database_name: str) -> list[str]:
        return self._catalog.list_views(database_name)

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """There are none."""
        self._catalog.get_database(database_name)
        return []

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        return CatalogBaseTable(self._catalog.get_table(*_parts(table_path)))

    def table_exists(self, table_path: ObjectPath) -> bool:
        return self._catalog.table_exists(*_parts(table_path))

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._catalog.drop_table(*_parts(table_path), ignore_if_not_exists)

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        self._catalog.rename_table(*_parts(table_path), new_table_name, ignore_if_not_exists)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        self._catalog.create_table(*_parts(table_path), table._table, ignore_if_exists)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        self._catalog.alter_table(*_parts(table_path), new_table._table, ignore_if_not_exists)

    # ---- partitions

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        spec = None if partition_spec is None else partition_spec._spec
        return [
            CatalogPartitionSpec(dict(s)) for s in self._catalog.list_partitions(*_parts(table_path), spec)
        ]

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        return CatalogPartition(dict(self._catalog.get_partition(*_parts(table_path), partition_spec._spec)))

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        return self.table_exists(table_path) and partition_spec in self.list_partitions(table_path)

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        self._catalog.create_partition(
            *_parts(table_path), partition_spec._spec, partition._properties, ignore_if_exists
        )

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        self._catalog.drop_partition(*_parts(table_path), partition_spec._spec, ignore_if_not_exists)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the properties of a partition."""
        if self.partition_exists(table_path, partition_spec):
            self._catalog.drop_partition(*_parts(table_path), partition_spec._spec, False)
        elif not ignore_if_not_exists:
            raise logical.PartitionNotFoundError(f"There is no partition {partition_spec} of {table_path}.")
        else:
            return
        self._catalog.create_partition(
            *_parts(table_path), partition_spec._spec, new_partition._properties, False
        )

    # ---- functions and procedures

    def list_functions(self, database_name: str) -> list[str]:
        return self._catalog.list_functions(database_name)

    def list_procedures(self, database_name: str) -> list[str]:
        """There are none."""
        self._catalog.get_database(database_name)
        return []

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        return CatalogFunction(self._catalog.get_function(*_parts(function_path)))

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        raise logical.ObjectNotFoundError(f"There is no procedure {procedure_path}: catalogs have none here.")

    def function_exists(self, function_path: ObjectPath) -> bool:
        return self._catalog.function_exists(*_parts(function_path))

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        self._catalog.create_function(
            *_parts(function_path), _loaded(function, function_path), ignore_if_exists
        )

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        self._catalog.alter_function(
            *_parts(function_path), _loaded(new_function, function_path), ignore_if_not_exists
        )

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._catalog.drop_function(*_parts(function_path), ignore_if_not_exists)

    # ---- models

    def list_models(self, database_name: str) -> list[str]:
        return self._catalog.list_models(database_name)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        return CatalogModel(self._catalog.get_model(*_parts(model_path)))

    def model_exists(self, model_path: ObjectPath) -> bool:
        return self._catalog.model_exists(*_parts(model_path))

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._catalog.drop_model(*_parts(model_path), ignore_if_not_exists)

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        self._catalog.rename_model(*_parts(model_path), new_model_name, ignore_if_not_exists)

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        self._catalog.create_model(*_parts(model_path), model._model, ignore_if_exists)

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        self._catalog.alter_model(*_parts(model_path), new_model._model, ignore_if_not_exists)

    # ---- statistics: for the order of joins (table.optimizer.join-reorder-enabled)

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Its row count is -1 where nothing is known."""
        self._catalog.get_table(*_parts(table_path))
        return _of_table(self._known(table_path))

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Of the columns of which something is known."""
        self._catalog.get_table(*_parts(table_path))
        return _of_columns(self._known(table_path))

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Its row count is -1 where nothing is known."""
        self.get_partition(table_path, partition_spec)
        return _of_table(self._known(table_path, partition_spec))

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """Of the columns of which something is known."""
        self.get_partition(table_path, partition_spec)
        return _of_columns(self._known(table_path, partition_spec))

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Say how many rows a table has, as for one that ANALYZE TABLE cannot count."""
        self._say(table_path, None, ignore_if_not_exists, rows=table_statistics.get_row_count())

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        """
        :param column_statistics: a ``ColumnStatistics`` for each column that it names; others stay.
        """
        data = column_statistics.get_column_statistics_data()
        self._say(table_path, None, ignore_if_not_exists, columns=data)

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        self._say(table_path, partition_spec, ignore_if_not_exists, rows=partition_statistics.get_row_count())

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        data = column_statistics.get_column_statistics_data()
        self._say(table_path, partition_spec, ignore_if_not_exists, columns=data)

    def _known(
        self, table: ObjectPath, partition: CatalogPartitionSpec | None = None
    ) -> TableStatistics | None:
        if not isinstance(self._catalog, KeepsStatistics):
            return None
        return self._catalog.get_statistics(*_parts(table), _spec(partition))

    def _say(
        self,
        table: ObjectPath,
        partition: CatalogPartitionSpec | None,
        ignore_if_not_exists: bool,
        *,
        rows: int | None = None,
        columns: dict[str, ColumnStatistics] | None = None,
    ) -> None:
        if not isinstance(self._catalog, KeepsStatistics):
            raise UnsupportedFeatureError(
                "This catalog keeps no statistics.", hint="a catalog in memory does, as the default one"
            )
        if ignore_if_not_exists and not self._catalog.table_exists(*_parts(table)):
            return
        for name, found in (columns or {}).items():
            if not isinstance(found, ColumnStatistics):
                raise TypeMismatchError(
                    f"The statistics of the column {name} are a {type(found).__name__}.",
                    hint="give a firesteel.table.catalog.ColumnStatistics",
                )
        before = self._known(table, partition) or TableStatistics(-1)
        made = TableStatistics(before.rows if rows is None else rows, {**before.columns, **(columns or {})})
        self._catalog.set_statistics(*_parts(table), made, _spec(partition))


def _spec(partition: CatalogPartitionSpec | None) -> dict[str, str] | None:
    return None if partition is None else dict(partition.get_partition_spec())


def _of_table(known: TableStatistics | None) -> CatalogTableStatistics:
    return CatalogTableStatistics(-1 if known is None else known.rows, 0, 0, 0)


def _of_columns(known: TableStatistics | None) -> CatalogColumnStatistics:
    return CatalogColumnStatistics(dict(known.columns) if known is not None else None)


def _parts(path: ObjectPath) -> tuple[str, str]:
    return path.get_database_name(), path.get_object_name()


def _loaded(function: CatalogFunction, path: ObjectPath) -> logical.CatalogFunction:
    """With what a call of it means."""
    found = function._function
    if found.definition is not None or found.language != "PYTHON":
        return found
    from firesteel.table.udf import load_function

    made: logical.CatalogFunction = load_function(found.class_name)._catalog_function(
        path.get_object_name(), found.class_name
    )
    return made


class HiveCatalog(Catalog):
    """Hive's metastore. It is read through Spark."""

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise UnsupportedFeatureError(
            "Hive's metastore is not available as a catalog.",
            hint="read its tables through Spark: t_env.from_spark(spark.table('db.t'))",
        )


class JdbcCatalog(Catalog):
    """The tables of a database."""

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        from firesteel.sql.connectors.catalogs import make_catalog

        options = {
            "type": "jdbc",
            "default-database": default_database,
            "username": username,
            "password": pwd,
            "base-url": base_url,
        }
        super().__init__(make_catalog(catalog_name, options))
