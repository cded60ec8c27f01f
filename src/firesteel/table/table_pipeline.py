"""The way of a table to another one (PyFlink: ``pyflink.table.table_pipeline``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table._object_names import ObjectIdentifier

if TYPE_CHECKING:
    from firesteel.table.explain_detail import ExplainDetail
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_result import TableResult

__all__ = ["TablePipeline"]


class TablePipeline:
    """Made by ``Table.insert_into``."""

    def __init__(self, sink: Any, t_env: TableEnvironment) -> None:
        self._sink = sink
        self._t_env = t_env

    def execute(self) -> TableResult:
        """Start the job."""
        return self._t_env._execute_sinks([self._sink])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How it is computed."""
        return self._t_env._explain([self._sink], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The name of the table that is written; None: it has none."""
        parts = self._sink.table.name.split(".")
        return ObjectIdentifier.of(*parts) if len(parts) == 3 else None

    def compile_plan(self) -> Any:
        """The plan, to be kept and run later."""
        from firesteel.table.compiled_plan import CompiledPlan

        return CompiledPlan._of(self._t_env, [self._sink])
