"""A session of the SQL gateway, in a process of its own: a table environment, and the statements that run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.cluster.sql.operations import Operation, Operations, Rows
from firesteel.cluster.sql.rows import StatementRows
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError
from firesteel.common.masking import masked_value
from firesteel.sql import types as t
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.statement_parser import parse_statement
from firesteel.table._completion import candidates
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_result import TableResult

__all__ = ["SqlSession"]

Given = Mapping[str, Any]
#: What configures no session: it would run, or only be shown.
_NOT_CONFIGURING: Final = (
    *(s.Query, s.Insert, s.StatementSet, s.Explain, s.Show, s.Describe, s.CompilePlan, s.ExecutePlan),
    *(s.StopJob, s.BeginStatementSet, s.EndStatementSet),
)
_JOB_ID: Final = t.RowType.of(["job id"], [t.VarCharType()])


class SqlSession:
    """Each method of ``answers`` may be called in any thread; statements are run one after another, their
    results are read beside each other."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        configuration = Configuration.from_dict(dict(settings))
        chosen = EnvironmentSettings.new_instance().with_configuration(configuration).build()
        self._env = TableEnvironment.create(chosen)
        self._at_work = threading.Lock()
        self._operations = Operations()

    @property
    def answers(self) -> dict[str, Callable[[Given], Any]]:
        return {
            "config": self.config,
            "configure": self.configure,
            "complete": self.complete,
            "execute": self.execute,
            "status": lambda given: self._operation(given).status.value,
            "cancel": self.cancel,
            "close": self.close,
            "fetch": self.fetch,
            "end": self.end,
        }

    def config(self, given: Given) -> dict[str, str]:
        values = self._env._session.configuration.to_dict()
        return {key: str(masked_value(key, values[key])) for key in sorted(values)}

    def configure(self, given: Given) -> None:
        """Run a statement that changes the session alone, and wait for it."""
        statement = given["statement"]
        if isinstance(parse_statement(statement), _NOT_CONFIGURING):
            raise ProgramError(
                "Unsupported statement for configuring session:" + statement,
                hint="CREATE, ALTER, DROP, USE, LOAD, UNLOAD, SET and RESET configure a session",
            )
        timeout_ms = int(given.get("timeout_ms") or 0)
        operation = self._operations.start(lambda: self._run(statement, {}), timeout_ms)
        operation.wait()
        operation.check()
        self._operations.close(operation.id)

    def complete(self, given: Given) -> list[str]:
        with self._at_work:
            return candidates(self._env._session, given["statement"], given["position"])

    # ---- statements

    def execute(self, given: Given) -> str:
        """Start a statement; the id of its operation."""
        statement, settings = given["statement"], given.get("settings") or {}
        started = self._operations.start(
            lambda: self._run(statement, settings), int(given.get("timeout_ms") or 0)
        )
        return started.id

    def cancel(self, given: Given) -> str:
        operation = self._operation(given)
        operation.cancel()
        return operation.status.value

    def close(self, given: Given) -> str:
        return self._operations.close(given["operation"]).status.value

    def fetch(self, given: Given) -> dict[str, Any] | None:
        """A page of rows; None: it is not ready."""
        page = self._operation(given).fetch(given["token"])
        if page is None:
            return None
        rows = page.rows
        assert isinstance(rows, StatementRows)
        data = rows.data(page.parts, given["format"])
        return {**rows.head, "data": data, "next": page.next_token}

    def end(self, given: Given) -> None:
        """Queries end with the session, jobs that write go on."""
        self._operations.close_all()

    def _operation(self, given: Given) -> Operation:
        return self._operations.get(given["operation"])

    def _run(self, statement: str, settings: Mapping[str, str]) -> Rows:
        with self._at_work:
            configuration = self._env._session.configuration
            before = configuration.to_dict()
            for key, value in settings.items():
                configuration.set_string(key, value)
            try:
                return _rows_of(self._env.execute_sql(statement))
            finally:
                for key in settings:
                    if key in before:
                        configuration.set_string(key, before[key])
                    else:
                        configuration.remove_config(key)


def _rows_of(result: TableResult) -> StatementRows:
    """Of a job that writes the id is what a client gets, as from Flink's gateway."""
    client = result.get_job_client()
    if client is None or not result._is_count():
        return StatementRows(result)
    return StatementRows(result, (_JOB_ID, columns_of([(str(client.get_job_id()),)], _JOB_ID)))
