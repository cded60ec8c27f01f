"""Statements as plain data: what ``parse_statement`` gives.

Paths are tuples of the parts as written. Queries are sqlglot trees, with the text beside them where it is
kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from firesteel.sql.schema import DeclaredColumn, DeclaredSchema, DeclaredWatermark, Distribution, PrimaryKey

__all__ = [
    "AddColumns",
    "AddPartitions",
    "AlterCatalog",
    "AlterDatabase",
    "AlterFunction",
    "AlterModel",
    "AlterTable",
    "AlterView",
    "AnalyzeTable",
    "BeginStatementSet",
    "CallProcedure",
    "CompilePlan",
    "CreateCatalog",
    "CreateDatabase",
    "CreateFunction",
    "CreateModel",
    "CreateTable",
    "CreateView",
    "Delete",
    "Describe",
    "Drop",
    "DropColumns",
    "DropConstraint",
    "DropPartitions",
    "EndStatementSet",
    "ExecutePlan",
    "Explain",
    "Insert",
    "Jar",
    "LikeClause",
    "LoadModule",
    "ModifyColumns",
    "Path",
    "Pattern",
    "Query",
    "RenameColumn",
    "RenameTo",
    "Reset",
    "ResetOptions",
    "SetComment",
    "SetOption",
    "SetOptions",
    "Show",
    "Statement",
    "StatementSet",
    "StopJob",
    "Truncate",
    "UnloadModule",
    "Update",
    "UseCatalog",
    "UseDatabase",
    "UseModules",
]

Path = tuple[str, ...]
Options = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Query:
    """SELECT, VALUES, WITH ...

    :param text: as written. :param start: where that begins in the statement.
    """

    tree: exp.Expr
    text: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO, INSERT OVERWRITE.

    :param columns: None: all. :param partition: column -> value as text, None for one that the query gives.
    :param on_conflict: NOTHING, ERROR, DEDUPLICATE or None.
    :param options: of an OPTIONS hint behind the table.
    :param place: offsets of the table's name, and of each of ``columns``, for messages.
    """

    path: Path
    query: Query
    columns: tuple[str, ...] | None = None
    partition: Mapping[str, str | None] = field(default_factory=dict)
    overwrite: bool = False
    on_conflict: str | None = None
    options: Options = field(default_factory=dict)
    place: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StatementSet:
    """EXECUTE STATEMENT SET BEGIN ... END."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True, slots=True)
class BeginStatementSet:
    """BEGIN STATEMENT SET, in a script."""


@dataclass(frozen=True, slots=True)
class EndStatementSet:
    """END, in a script."""


@dataclass(frozen=True, slots=True)
class Explain:
    """:param details: ESTIMATED_COST, CHANGELOG_MODE, PLAN_ADVICE, JSON_EXECUTION_PLAN."""

    statement: Statement
    details: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------ SHOW, DESCRIBE, USE


@dataclass(frozen=True, slots=True)
class Pattern:
    """[NOT] LIKE 'a%', [NOT] ILIKE 'a%'."""

    text: str
    negated: bool = False
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """:param what: CATALOGS, CURRENT CATALOG, CURRENT DATABASE, DATABASES, TABLES, VIEWS, MATERIALIZED
    TABLES, COLUMNS,
        PARTITIONS, FUNCTIONS, USER FUNCTIONS, PROCEDURES, MODULES, FULL MODULES, MODELS, JARS, JOBS,
        CONNECTIONS, or CREATE TABLE, CREATE VIEW, CREATE CATALOG, CREATE MODEL.
    :param path: what stands behind FROM or IN, or the object; empty: the current one.
    """

    what: str
    path: Path = ()
    like: Pattern | None = None
    partition: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Describe:
    """:param what: TABLE, CATALOG, DATABASE, FUNCTION, MODEL, JOB, CONNECTION."""

    what: str
    path: Path
    extended: bool = False


@dataclass(frozen=True, slots=True)
class UseCatalog:
    name: str


@dataclass(frozen=True, slots=True)
class UseDatabase:
    path: Path


@dataclass(frozen=True, slots=True)
class UseModules:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoadModule:
    name: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnloadModule:
    name: str


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET 'key' = 'value'. :param key: None: show all options."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Reset:
    """:param key: None: all."""

    key: str | None = None


@dataclass(frozen=True, slots=True)
class Jar:
    """ADD JAR, REMOVE JAR: what a JVM would load."""

    action: str
    path: str


# ------------------------------------------------------------------------------------ CREATE, DROP


@dataclass(frozen=True, slots=True)
class LikeClause:
    """LIKE table (INCLUDING ALL, OVERWRITING OPTIONS ...).

    :param options: feature -> INCLUDING, EXCLUDING or OVERWRITING; features are ALL, CONSTRAINTS,
        DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS, WATERMARKS.
    """

    path: Path
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE, also ... LIKE, ... AS SELECT, and REPLACE TABLE ... AS SELECT.

    :param query: of CTAS and RTAS. :param replace: "" or REPLACE or CREATE OR REPLACE.
    :param names: of CTAS, names of the columns without types, in the order wanted.
    """

    path: Path
    schema: DeclaredSchema = field(default_factory=DeclaredSchema)
    options: Options = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    distribution: Distribution | None = None
    comment: str = ""
    temporary: bool = False
    if_not_exists: bool = False
    like: LikeClause | None = None
    query: Query | None = None
    replace: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateView:
    path: Path
    query: Query
    columns: tuple[str, ...] = ()
    comments: tuple[str | None, ...] = ()
    comment: str = ""
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    name: str
    options: Options = field(default_factory=dict)
    comment: str = ""
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    path: Path
    options: Options = field(default_factory=dict)
    comment: str = ""
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """:param resources: pairs of JAR, FILE or ARCHIVE and a path."""

    path: Path
    class_name: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False
    resources: tuple[tuple[str, str], ...] = ()
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateModel:
    path: Path
    input: DeclaredSchema = field(default_factory=DeclaredSchema)
    output: DeclaredSchema = field(default_factory=DeclaredSchema)
    options: Options = field(default_factory=dict)
    comment: str = ""
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """:param what: CATALOG, DATABASE, TABLE, VIEW, FUNCTION, MODEL."""

    what: str
    path: Path
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


# ------------------------------------------------------------------------------------ ALTER


@dataclass(frozen=True, slots=True)
class RenameTo:
    path: Path


@dataclass(frozen=True, slots=True)
class RenameColumn:
    name: Path
    new_name: str


@dataclass(frozen=True, slots=True)
class SetOptions:
    options: Options


@dataclass(frozen=True, slots=True)
class ResetOptions:
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetComment:
    comment: str


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ALTER TABLE ADD. :param positions: for each column None, FIRST, or the name after which it comes."""

    columns: tuple[DeclaredColumn, ...] = ()
    positions: tuple[str | tuple[str, str] | None, ...] = ()
    watermark: DeclaredWatermark | None = None
    primary_key: PrimaryKey | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True)
class ModifyColumns:
    """ALTER TABLE MODIFY; as ``AddColumns``."""

    columns: tuple[DeclaredColumn, ...] = ()
    positions: tuple[str | tuple[str, str] | None, ...] = ()
    watermark: DeclaredWatermark | None = None
    primary_key: PrimaryKey | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True)
class DropColumns:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """:param what: PRIMARY KEY, CONSTRAINT, WATERMARK or DISTRIBUTION."""

    what: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """:param partitions: pairs of a partition and its properties."""

    partitions: tuple[tuple[Options, Options], ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropPartitions:
    partitions: tuple[Options, ...]
    if_exists: bool = False


TableAction = (
    RenameTo
    | RenameColumn
    | SetOptions
    | ResetOptions
    | AddColumns
    | ModifyColumns
    | DropColumns
    | DropConstraint
    | AddPartitions
    | DropPartitions
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    path: Path
    action: TableAction
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterView:
    """:param action: another name, or another query."""

    path: Path
    action: RenameTo | Query


@dataclass(frozen=True, slots=True)
class AlterCatalog:
    name: str
    action: SetOptions | ResetOptions | SetComment


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    path: Path
    options: Options


@dataclass(frozen=True, slots=True)
class AlterFunction:
    path: Path
    class_name: str
    language: str = "JAVA"
    temporary: bool = False
    system: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterModel:
    path: Path
    action: RenameTo | SetOptions | ResetOptions
    if_exists: bool = False


# ------------------------------------------------------------------------------------ rows, plans, jobs


@dataclass(frozen=True, slots=True)
class Delete:
    path: Path
    condition: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Update:
    path: Path
    assignments: tuple[tuple[str, exp.Expr], ...]
    condition: exp.Expr | None = None


@dataclass(frozen=True, slots=True)
class Truncate:
    path: Path


@dataclass(frozen=True, slots=True)
class AnalyzeTable:
    """:param columns: None: none; empty: all."""

    path: Path
    partition: Mapping[str, str | None] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CallProcedure:
    path: Path
    arguments: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class CompilePlan:
    """:param execute: COMPILE AND EXECUTE PLAN."""

    path: str
    statement: Insert | StatementSet
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True, slots=True)
class ExecutePlan:
    path: str


@dataclass(frozen=True, slots=True)
class StopJob:
    job_id: str
    with_savepoint: bool = False
    with_drain: bool = False


Statement = Any  # one of the classes above: an open set, the executor has a table by class
