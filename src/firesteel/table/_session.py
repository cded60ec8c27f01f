"""What all parts of a table environment share: catalogs, functions, settings, and the way of a plan to a
job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.options import execution, table as options
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.sql import functions as built_in, logical as l, physical as p
from firesteel.sql.binder.binder import Binder, Settings
from firesteel.sql.catalog import ResolvedTable
from firesteel.sql.catalog_manager import CatalogManager
from firesteel.sql.connectors.factory import lookup_source, scan_source
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.parser.dialect import parse_query
from firesteel.sql.planner import plan
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.shared import together
from firesteel.sql.rules.optimize import optimize
from firesteel.sql.rules.reorder_joins import reorder_joins
from firesteel.sql.session import session_zone
from firesteel.sql.translate import Translator

__all__ = ["Session"]


class Session:
    """One table environment from the inside. :param environment: that its jobs are built on."""

    def __init__(self, environment: StreamExecutionEnvironment) -> None:
        self.environment = environment
        self.catalogs = CatalogManager(
            catalog=self.configuration.get(options.CATALOG),
            database=self.configuration.get(options.DATABASE),
            builtin=built_in.find,
            builtin_names=built_in.sql_names,
        )
        self.functions: dict[str, FunctionDefinition] = {}  # of users, by the names that plans have for them
        self.initial = Configuration(self.configuration)
        self.statement_set: list[Any] | None = None  # INSERTs between BEGIN STATEMENT SET and END
        self.catalog_options: dict[str, tuple[dict[str, str], str]] = {}  # of CREATE CATALOG, and its comment
        self._anonymous = 0

    @property
    def configuration(self) -> Configuration:
        return self.environment.configuration

    @property
    def batch(self) -> bool:
        return self.configuration.get(execution.RUNTIME_MODE) == "BATCH"

    def binder(self, sql: str = "") -> Binder:
        settings = Settings(streaming=not self.batch, time_zone=session_zone(self.configuration))
        return Binder(self.catalogs, sql, settings, self.functions)

    def query(self, sql: str) -> l.Node:
        """The plan of the text of a query."""
        return self.binder(sql).bind_query(parse_query(sql))

    def anonymous(self, what: str) -> str:
        """A name for what has none, such as ``*anonymous_datastream_sink$1*``."""
        self._anonymous += 1
        return f"*anonymous_{what}${self._anonymous}*"

    # ---- from plans to jobs

    @property
    def planning(self) -> PlannerContext:
        return PlannerContext(
            configuration=self.configuration,
            batch=self.batch,
            functions=dict(self.functions),
            scan=self._scan,
            lookup=self._lookup,
        )

    def _scan(self, table: ResolvedTable) -> Any:
        return scan_source(table, self.configuration, self.batch)

    def _lookup(self, table: ResolvedTable, keys: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        return lookup_source(table, keys, columns, self.configuration)

    def optimized(self, node: l.Node) -> l.Node:
        if not self.configuration.get(options.JOIN_REORDER):
            return optimize(node)
        most_bushy = self.configuration.get(options.BUSHY_JOINS)
        return optimize(node, lambda plan: reorder_joins(plan, self.catalogs.statistics_of, most_bushy))

    def physical(self, node: l.Node) -> p.Physical:
        """The physical plan of a query or a sink."""
        return self.physical_of([node])[0]

    def physical_of(self, nodes: Sequence[l.Node]) -> list[p.Physical]:
        """The physical plans of several queries or sinks, which are one job."""
        return together([plan(self.optimized(node), self.planning) for node in nodes], self.planning)

    def translator(self, *roots: p.Physical) -> Translator:
        """Return what adds operators for plans to the program of the environment."""
        return Translator(self.planning, self.environment, roots)
