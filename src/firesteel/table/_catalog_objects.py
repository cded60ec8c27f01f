"""What catalogs keep: databases, tables and views, partitions, functions, models."""

from __future__ import annotations

from typing import Any

from firesteel.sql import catalog as logical
from firesteel.table.schema import Schema
from firesteel.table.table_schema import TableSchema

__all__ = [
    "CatalogBaseTable",
    "CatalogDatabase",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "Procedure",
]


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
