"""Plans of INSERTs that are kept and run later (PyFlink: ``pyflink.table.compiled_plan``).

A plan is kept in a form of Firesteel's own: JSON with the logical plan, pickled, and its text. A plan of
Flink cannot be read, nor can Flink read one of these.
"""

from __future__ import annotations

import base64
import json
import pathlib
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import cloudpickle

from firesteel.common.errors import ProgramError
from firesteel.common.options import table as options
from firesteel.version import __version__

if TYPE_CHECKING:
    from firesteel.table.explain_detail import ExplainDetail
    from firesteel.table.table_result import TableResult

__all__ = ["CompiledPlan"]

_FORMAT: Final = "firesteel-plan-1"


class CompiledPlan:
    """A plan of one INSERT or several."""

    def __init__(self, sinks: Sequence[Any], t_env: Any) -> None:
        self._sinks = list(sinks)
        self._t_env = t_env

    @classmethod
    def _of(cls, t_env: Any, sinks: Sequence[Any]) -> CompiledPlan:
        return cls(sinks, t_env)

    @classmethod
    def _of_statement(cls, t_env: Any, statement: Any, sinks: Sequence[Any], sql: str) -> CompiledPlan:
        return cls(sinks, t_env)

    def as_json_string(self) -> str:
        """The plan as JSON."""
        session = self._t_env._session
        kept = [replace(s, table=replace(s.table, writer=None)) for s in self._sinks]
        content = cloudpickle.dumps((kept, dict(session.functions)), protocol=5)
        return json.dumps(
            {
                "format": _FORMAT,
                "firesteelVersion": __version__,
                "explained": self.explain().split("\n"),
                "content": base64.b64encode(content).decode(),
            },
            indent=2,
        )

    def as_smile_bytes(self) -> bytes:
        """The plan as bytes (JSON in UTF-8)."""
        return self.as_json_string().encode()

    def write_to_file(self, file: str | pathlib.Path, ignore_if_exists: bool = False) -> None:
        """Write the plan to a file that is not there yet."""
        path = pathlib.Path(file)
        force = bool(self._t_env._session.configuration.get(options.FORCE_RECOMPILE))
        if path.exists() and not force:
            if ignore_if_exists:
                return
            raise ProgramError(
                f"Cannot overwrite the plan file '{path}'.",
                hint=f"remove it, or set {options.FORCE_RECOMPILE.key} to true",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.as_json_string(), encoding="utf-8")

    def get_flink_version(self) -> str:
        """The version of Flink whose SQL it is."""
        return "2.3"

    def print_json_string(self) -> None:
        print(self.as_json_string())

    def execute(self) -> TableResult:
        """Start the job."""
        result: TableResult = self._t_env._execute_sinks(self._sinks)
        return result

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the plan is computed."""
        text: str = self._t_env._explain(self._sinks, extra_details)
        return text

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))


def compile_statement(t_env: Any, sql: str) -> CompiledPlan:
    """The plan of an INSERT or a STATEMENT SET."""
    from firesteel.sql.parser import statements as s
    from firesteel.sql.parser.statement_parser import parse_statement
    from firesteel.table._statements import _sink

    statement = parse_statement(sql)
    if isinstance(statement, s.Insert):
        return CompiledPlan._of(t_env, [_sink(t_env, statement, sql)])
    if isinstance(statement, s.StatementSet):
        return CompiledPlan._of(t_env, [_sink(t_env, i, sql) for i in statement.inserts])
    raise ProgramError("Only INSERT and STATEMENT SET are compiled.", detail=sql)


def load_plan(t_env: Any, reference: Any) -> CompiledPlan:
    """The plan that is kept somewhere."""
    from firesteel.sql.connectors.factory import sink_target

    try:
        kept = json.loads(reference._text())
        if kept.get("format") != _FORMAT:
            raise ValueError("its format is another one")
        sinks, functions = pickle.loads(base64.b64decode(kept["content"]))
    except (ValueError, KeyError, AttributeError, pickle.UnpicklingError) as error:
        raise ProgramError("This is no plan that Firesteel has compiled.", detail=str(error)) from error
    session = t_env._session
    session.functions.update(functions)
    made = []
    for sink in sinks:
        writer = sink_target(
            sink.table.table,
            session.configuration,
            session.batch,
            sink.overwrite,
            dict(sink.static_partition),
        )
        made.append(replace(sink, table=replace(sink.table, writer=writer)))
    return CompiledPlan(made, t_env)
