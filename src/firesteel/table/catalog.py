"""Catalogs and what is in them (PyFlink: ``pyflink.table.catalog``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.sql import catalog as logical
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
from firesteel.table.schema import Schema
from firesteel.table.table_schema import TableSchema

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


class ObjectPath:
    """A database and an object in it."""

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        self._database = database_name or ""
        self._object = object_name or ""

    def get_database_name(self) -> str:
        return self._database

    def get_object_name(self) -> str:
        return self._object

    def get_full_name(self) -> str:
        return f"{self._database}.{self._object}"

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path of ``database.object``."""
        parts = full_name.split(".")
        if len(parts) != 2 or not all(parts):
            raise ProgramError(f"Cannot get split '{full_name}' to get databaseName and objectName")
        return ObjectPath(*parts)

    def compare_to(self, other: ObjectPath) -> int:
        """Below 0, 0 or above 0, as it comes before, with or behind another one."""
        mine, its = self.get_full_name(), other.get_full_name()
        return (mine > its) - (mine < its)

    def __str__(self) -> str:
        return self.get_full_name()

    def __hash__(self) -> int:
        return hash(self.get_full_name())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self.get_full_name() == other.get_full_name()

    def __lt__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) < 0

    def __le__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) <= 0

    def __gt__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) > 0

    def __ge__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) >= 0


class ObjectIdentifier:
    """The full name of an object. Made by ``of``."""

    def __init__(self, path: logical.ObjectPath) -> None:
        self._path = path

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        if not object_name:
            raise ProgramError("Object name must not be empty.")
        return ObjectIdentifier(logical.ObjectPath(catalog_name, database_name, object_name))

    def get_catalog_name(self) -> str:
        return self._path.catalog

    def get_database_name(self) -> str:
        return self._path.database

    def get_object_name(self) -> str:
        return self._path.name

    def to_object_path(self) -> ObjectPath:
        return ObjectPath(self._path.database, self._path.name)

    def to_list(self) -> list[str]:
        return list(self._path.parts)

    def as_serializable_string(self) -> str:
        """As SQL: each part in backticks."""
        return str(self._path)

    def as_summary_string(self) -> str:
        return self._path.summary()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._path == other._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __str__(self) -> str:
        return str(self._path)


class CatalogDatabase:
    """A database: properties and a comment."""

    def __init__(self, database: logical.CatalogDatabase) -> None:
        self._database = database

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogDatabase:
        return CatalogDatabase(logical.CatalogDatabase(dict(properties), comment or ""))

    def get_properties(self) -> dict[str, str]:
        return dict(self._database.properties)

    def get_comment(self) -> str:
        return self._database.comment

    def copy(self) -> CatalogDatabase:
        return CatalogDatabase(self._database)

    def get_description(self) -> str | None:
        return self._database.comment

    def get_detailed_description(self) -> str | None:
        return self._database.comment


class CatalogBaseTable:
    """A table or a view, as a catalog keeps it."""

    def __init__(self, table: logical.CatalogTable) -> None:
        self._table = table

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: list[str] = [],  # noqa: B006 - PyFlink's
        properties: dict[str, str] = {},  # noqa: B006 - PyFlink's
        comment: str | None = None,
    ) -> CatalogBaseTable:
        return CatalogBaseTable(
            logical.CatalogTable(
                schema=_declared(schema),
                options=dict(properties),
                partition_keys=tuple(partition_keys),
                comment=comment or "",
            )
        )

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: dict[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        return CatalogBaseTable(
            logical.CatalogTable(
                schema=_declared(schema),
                kind=logical.TableKind.VIEW,
                options=dict(properties),
                comment=comment or "",
                query=original_query,
                expanded_query=expanded_query,
            )
        )

    def get_options(self) -> dict[str, str]:
        return dict(self._table.options)

    def get_unresolved_schema(self) -> Schema:
        return Schema(self._table.schema)

    def get_comment(self) -> str:
        return self._table.comment

    def copy(self) -> CatalogBaseTable:
        return CatalogBaseTable(self._table)

    def get_description(self) -> str | None:
        return self._table.comment

    def get_detailed_description(self) -> str | None:
        return self._table.comment


def _declared(schema: Any) -> Any:
    if isinstance(schema, TableSchema):
        builder = Schema.new_builder().from_fields(schema.get_field_names(), schema.get_field_data_types())
        return builder.build()._declared
    return schema._declared


class CatalogPartition:
    """A partition: properties and a comment."""

    def __init__(self, properties: dict[str, str], comment: str | None = None) -> None:
        self._properties = dict(properties)
        self._comment = comment

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogPartition:
        return CatalogPartition(properties, comment)

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogPartition:
        return CatalogPartition(self._properties, self._comment)

    def get_description(self) -> str | None:
        return self._comment

    def get_detailed_description(self) -> str | None:
        return self._comment

    def get_comment(self) -> str:
        return self._comment or ""


class CatalogPartitionSpec:
    """Column -> value of a partition."""

    def __init__(self, partition_spec: dict[str, str]) -> None:
        self._spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        return dict(self._spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._spec == other._spec

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._spec.items())))

    def __str__(self) -> str:
        return f"CatalogPartitionSpec{{{self._spec}}}"


class CatalogFunction:
    """A function: the name of its class, and its language."""

    def __init__(self, function: logical.CatalogFunction) -> None:
        self._function = function

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        return CatalogFunction(logical.CatalogFunction(class_name, function_language.upper()))

    def get_class_name(self) -> str:
        return self._function.class_name

    def copy(self) -> CatalogFunction:
        return CatalogFunction(self._function)

    def get_description(self) -> str | None:
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        return "This is a user-defined function"

    def get_function_language(self) -> str:
        return self._function.language

    def get_options(self) -> dict[str, str]:
        return dict(self._function.options)


class CatalogModel:
    """A model: schemas of its input and output, options."""

    def __init__(self, model: logical.CatalogModel) -> None:
        self._model = model

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: dict[str, str] = {},  # noqa: B006 - PyFlink's
        comment: str | None = None,
    ) -> CatalogModel:
        return CatalogModel(
            logical.CatalogModel(
                input_schema._declared, output_schema._declared, dict(options), comment or ""
            )
        )

    def copy(self) -> CatalogModel:
        return CatalogModel(self._model)

    def get_comment(self) -> str:
        return self._model.comment

    def get_options(self) -> dict[str, str]:
        return dict(self._model.options)


class Procedure:
    """A stored procedure. No catalog has one here."""

    def __init__(self, procedure: Any = None) -> None:
        self._procedure = procedure


class CatalogTableStatistics:
    """How many rows and bytes a table has, as somebody has said."""

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._values = (row_count, field_count, total_size, raw_data_size)
        self._properties = dict(properties or {})

    def get_row_count(self) -> int | None:
        return self._values[0]

    def get_field_count(self) -> int | None:
        return self._values[1]

    def get_total_size(self) -> int | None:
        return self._values[2]

    def get_raw_data_size(self) -> int | None:
        return self._values[3]

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        return CatalogTableStatistics(*self._values, self._properties)


class CatalogColumnStatistics:
    """What somebody has said of the values of columns."""

    def __init__(
        self, column_statistics_data: dict[str, Any] | None = None, properties: dict[str, str] | None = None
    ) -> None:
        self._data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        return CatalogColumnStatistics(self._data, self._properties)


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
        if not self.partition_exists(table_path, partition_spec):
            raise logical.ObjectNotFoundError(f"There is no partition {partition_spec} of {table_path}.")
        return CatalogPartition({})

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        return partition_spec in self.list_partitions(table_path)

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
            raise logical.ObjectNotFoundError(f"There is no partition {partition_spec} of {table_path}.")
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

    # ---- statistics: the planner keeps joins in the order in which they are written, and asks for none

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Nothing is known."""
        self._catalog.get_table(*_parts(table_path))
        return CatalogTableStatistics(-1, 0, 0, 0)

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Nothing is known."""
        self._catalog.get_table(*_parts(table_path))
        return CatalogColumnStatistics()

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Nothing is known."""
        self.get_partition(table_path, partition_spec)
        return CatalogTableStatistics(-1, 0, 0, 0)

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """Nothing is known."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """Nothing is known."""
        self.get_partition(table_path, partition_spec)
        return CatalogColumnStatistics()

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """Nothing is known."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        raise _no_statistics()

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        raise _no_statistics()

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        raise _no_statistics()

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        raise _no_statistics()


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


def _no_statistics() -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "Statistics of tables are not kept.", hint="joins stay in the order in which they are written"
    )


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
