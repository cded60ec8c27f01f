"""What catalogs hold: databases, tables, views, functions, models; and tables as a query sees them.

Flink: ``Catalog``, ``CatalogBaseTable``, ``CatalogFunction``, ``ResolvedCatalogTable``. A catalog keeps
definitions whose texts are read anew whenever they are used; ``catalog_manager.py`` resolves them to a
``ResolvedTable``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from firesteel.common.errors import ProgramError
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.logical import Node
from firesteel.sql.schema import DeclaredSchema, Distribution, ResolvedSchema
from firesteel.util import exceptions as named

__all__ = [
    "EXISTING",
    "MISSING",
    "Catalog",
    "CatalogDatabase",
    "CatalogError",
    "CatalogFunction",
    "CatalogModel",
    "CatalogTable",
    "DatabaseNotEmptyError",
    "DatabaseNotFoundError",
    "InvalidPartitionError",
    "NotPartitionedError",
    "ObjectExistsError",
    "ObjectNotFoundError",
    "ObjectPath",
    "PartitionNotFoundError",
    "PartitionSpec",
    "ResolvedTable",
    "TableKind",
    "TableNotFoundError",
]


class CatalogError(named.CatalogException, ProgramError):
    """A catalog cannot do what it is asked (Flink: ``CatalogException``). Programs of PyFlink catch the
    errors below by the names that ``util/exceptions.py`` has."""


class ObjectNotFoundError(CatalogError):
    """A table, view, function, model or partition is not there."""


class DatabaseNotFoundError(ObjectNotFoundError, named.DatabaseNotExistException):
    """A database is not there."""


class TableNotFoundError(ObjectNotFoundError, named.TableNotExistException):
    """A table or view is not there."""


class FunctionNotFoundError(ObjectNotFoundError, named.FunctionNotExistException):
    """A function is not there."""


class ModelNotFoundError(ObjectNotFoundError, named.ModelNotExistException):
    """A model is not there."""


class PartitionNotFoundError(ObjectNotFoundError, named.PartitionNotExistException):
    """A partition is not there."""


class ObjectExistsError(CatalogError):
    """There is one of this name already."""


class DatabaseExistsError(ObjectExistsError, named.DatabaseAlreadyExistException):
    """There is a database of this name already."""


class TableExistsError(ObjectExistsError, named.TableAlreadyExistException):
    """There is a table or view of this name already."""


class FunctionExistsError(ObjectExistsError, named.FunctionAlreadyExistException):
    """There is a function of this name already."""


class ModelExistsError(ObjectExistsError, named.ModelAlreadyExistException):
    """There is a model of this name already."""


class PartitionExistsError(ObjectExistsError, named.PartitionAlreadyExistsException):
    """There is a partition of these values already."""


class DatabaseNotEmptyError(CatalogError, named.DatabaseNotEmptyException):
    """A database that is to be dropped has something in it."""


class NotPartitionedError(CatalogError, named.TableNotPartitionedException):
    """A table has no partitions."""


class InvalidPartitionError(CatalogError, named.PartitionSpecInvalidException):
    """What names a partition does not name the columns by which its table is partitioned."""


#: By what messages call an object.
MISSING: Final[Mapping[str, type[ObjectNotFoundError]]] = {
    "Table (or view)": TableNotFoundError,
    "Function": FunctionNotFoundError,
    "Model": ModelNotFoundError,
}
EXISTING: Final[Mapping[str, type[ObjectExistsError]]] = {
    "Database": DatabaseExistsError,
    "Table (or view)": TableExistsError,
    "Function": FunctionExistsError,
    "Model": ModelExistsError,
    "Partition": PartitionExistsError,
}


@dataclass(frozen=True, slots=True, order=True)
class ObjectPath:
    """The full name of an object (Flink: ``ObjectIdentifier``)."""

    catalog: str
    database: str
    name: str

    @property
    def parts(self) -> tuple[str, str, str]:
        return (self.catalog, self.database, self.name)

    def summary(self) -> str:
        """As in messages: ``default_catalog.default_database.t``."""
        return ".".join(self.parts)

    def __str__(self) -> str:
        """As in SQL: each part in backticks."""
        return ".".join("`" + part.replace("`", "``") + "`" for part in self.parts)


class TableKind(enum.Enum):
    TABLE = "TABLE"
    VIEW = "VIEW"
    MATERIALIZED_TABLE = "MATERIALIZED_TABLE"


#: Column -> value of a partition.
PartitionSpec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CatalogDatabase:
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table or a view, as a catalog keeps it.

    :param query: of a view: its SQL as written; :param expanded_query: with full names (what is bound).
    :param plan: of a temporary view over a ``Table`` object: the plan itself. :param stream: of a table
        over a stream, a collection or a DataFrame: what ``table/`` put there; the translation knows what to
        do with it.
    """

    schema: DeclaredSchema = field(default_factory=DeclaredSchema)
    kind: TableKind = TableKind.TABLE
    options: Mapping[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    distribution: Distribution | None = None
    comment: str = ""
    query: str = ""
    expanded_query: str = ""
    plan: Node | None = None
    stream: Any = None

    @property
    def is_of_program(self) -> bool:
        """Whether it is a view of a ``Table`` object, and has no SQL."""
        return self.plan is not None and not self.query

    def with_options(self, options: Mapping[str, str]) -> CatalogTable:
        return replace(self, options=dict(options))


@dataclass(frozen=True, slots=True)
class CatalogFunction:
    """A function of the user.

    :param class_name: as written in CREATE FUNCTION. :param definition: what a call of it means, when it is
        loaded.
    """

    class_name: str = ""
    language: str = "PYTHON"
    definition: FunctionDefinition | None = None
    resources: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """CREATE MODEL."""

    input: DeclaredSchema = field(default_factory=DeclaredSchema)
    output: DeclaredSchema = field(default_factory=DeclaredSchema)
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """A table as a query or an INSERT sees it: ``Scan.table`` and ``Sink.table``.

    :param path: None: it has no name (``from_descriptor``, an inline stream, a collection).
    :param options: with those of OPTIONS hints merged in.
    :param plan: of a view: its logical plan; such a table never gets into a Scan.
    :param stream: what stands behind it where no connector does (see ``CatalogTable.stream``).
    """

    path: ObjectPath | None
    schema: ResolvedSchema
    kind: TableKind = TableKind.TABLE
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    partition_keys: tuple[str, ...] = ()
    distribution: Distribution | None = None
    comment: str = ""
    temporary: bool = False
    plan: Node | None = field(default=None, compare=False, repr=False)
    stream: Any = field(default=None, repr=False)
    query: str = ""

    @property
    def name(self) -> str:
        """For messages and EXPLAIN."""
        return "*anonymous*" if self.path is None else self.path.summary()


class Catalog(Protocol):
    """A catalog. Names are exact: case counts. What is not there raises ``ObjectNotFoundError``, what is
    there already ``ObjectExistsError``, unless the call says to ignore it."""

    @property
    def default_database(self) -> str: ...

    def open(self) -> None: ...

    def close(self) -> None: ...

    # ---- databases

    def list_databases(self) -> list[str]: ...

    def get_database(self, name: str) -> CatalogDatabase: ...

    def database_exists(self, name: str) -> bool: ...

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None: ...

    def drop_database(self, name: str, ignore_if_not_exists: bool, cascade: bool) -> None: ...

    def alter_database(self, name: str, database: CatalogDatabase, ignore_if_not_exists: bool) -> None: ...

    # ---- tables and views

    def list_tables(self, database: str) -> list[str]:
        """Tables and views, in order."""
        ...

    def list_views(self, database: str) -> list[str]: ...

    def get_table(self, database: str, name: str) -> CatalogTable: ...

    def table_exists(self, database: str, name: str) -> bool: ...

    def create_table(self, database: str, name: str, table: CatalogTable, ignore_if_exists: bool) -> None: ...

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None: ...

    def rename_table(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None: ...

    def alter_table(
        self, database: str, name: str, table: CatalogTable, ignore_if_not_exists: bool
    ) -> None: ...

    # ---- partitions

    def list_partitions(
        self, database: str, name: str, spec: PartitionSpec | None = None
    ) -> list[PartitionSpec]: ...

    def get_partition(self, database: str, name: str, spec: PartitionSpec) -> Mapping[str, str]:
        """The properties of a partition."""

    def create_partition(
        self, database: str, name: str, spec: PartitionSpec, properties: Mapping[str, str], ignore: bool
    ) -> None: ...

    def drop_partition(self, database: str, name: str, spec: PartitionSpec, ignore: bool) -> None: ...

    # ---- functions and models

    def list_functions(self, database: str) -> list[str]: ...

    def get_function(self, database: str, name: str) -> CatalogFunction: ...

    def function_exists(self, database: str, name: str) -> bool: ...

    def create_function(
        self, database: str, name: str, function: CatalogFunction, ignore_if_exists: bool
    ) -> None: ...

    def alter_function(
        self, database: str, name: str, function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None: ...

    def drop_function(self, database: str, name: str, ignore_if_not_exists: bool) -> None: ...

    def list_models(self, database: str) -> list[str]: ...

    def get_model(self, database: str, name: str) -> CatalogModel: ...

    def model_exists(self, database: str, name: str) -> bool: ...

    def create_model(self, database: str, name: str, model: CatalogModel, ignore_if_exists: bool) -> None: ...

    def alter_model(
        self, database: str, name: str, model: CatalogModel, ignore_if_not_exists: bool
    ) -> None: ...

    def rename_model(self, database: str, name: str, new_name: str, ignore_if_not_exists: bool) -> None: ...

    def drop_model(self, database: str, name: str, ignore_if_not_exists: bool) -> None: ...
