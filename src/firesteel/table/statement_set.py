"""INSERTs that become one job (PyFlink: ``pyflink.table.statement_set``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.errors import ProgramError

if TYPE_CHECKING:
    from firesteel.table.explain_detail import ExplainDetail
    from firesteel.table.table import Table
    from firesteel.table.table_descriptor import TableDescriptor
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_pipeline import TablePipeline
    from firesteel.table.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """Made by ``create_statement_set()``. What its INSERTs share is computed once."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._sinks: list[Any] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT statement."""
        from firesteel.table._statements import insert_of

        self._sinks.append(insert_of(self._t_env, stmt))
        return self

    def attach_as_datastream(self) -> None:
        """Add the INSERTs to the stream environment's program; its ``execute`` runs them."""
        from firesteel.table._running import attached

        attached(self._t_env._session, self._take())

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Table, overwrite: bool = False
    ) -> StatementSet:
        """Add an INSERT of a table."""
        self._sinks.append(self._t_env._insert(table._node, target_path_or_descriptor, overwrite))
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add what ``Table.insert_into`` gave."""
        self._sinks.append(table_pipeline._sink)
        return self

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the INSERTs are computed."""
        return self._t_env._explain(self._sinks, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start one job for all, and forget them."""
        return self._t_env._execute_sinks(self._take())

    def compile_plan(self) -> Any:
        """The plan of all, to be kept and run later."""
        from firesteel.table.compiled_plan import CompiledPlan

        return CompiledPlan._of(self._t_env, self._take())

    def _take(self) -> list[Any]:
        sinks, self._sinks = self._sinks, []
        if not sinks:
            raise ProgramError("The statement set is empty.", hint="add_insert() or add_insert_sql() first")
        return sinks
