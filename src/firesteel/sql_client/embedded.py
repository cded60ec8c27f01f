"""Statements run by this process, or as jobs of a session cluster that is handed them by this process."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.program.execution import KnowsJobs, get_executor
from firesteel.table._completion import candidates
from firesteel.table._text_results import Content, TextResult, text_result
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.table_environment import TableEnvironment

__all__ = ["EmbeddedExecutor"]


class EmbeddedExecutor:
    """Implements ``Executor`` by a table environment of its own.

    :param jobs_go_on: its jobs run elsewhere, and do not end with this process.
    """

    def __init__(self, configuration: Configuration, *, jobs_go_on: bool = False) -> None:
        self._jobs_go_on = jobs_go_on
        settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
        self._env = TableEnvironment.create(settings)
        self._clients: dict[str, JobClient] = {}

    def execute(self, sql: str) -> TextResult:
        made = self._env.execute_sql(sql)
        result = text_result(made)
        client = made.get_job_client()
        if result.content is Content.JOB and client is not None:
            self._clients[str(client.get_job_id())] = client
        return result

    def setting(self, key: str) -> str | None:
        return self._env._session.configuration.to_dict().get(key)

    def candidates(self, sql: str, position: int) -> Sequence[str]:
        return candidates(self._env._session, sql, position)

    def wait(self, job_id: str) -> None:
        client = self._clients.pop(job_id, None)
        if client is not None:
            client.get_job_execution_result().result()

    def jobs_that_end_with_it(self) -> Sequence[str]:
        executor = get_executor()
        if self._jobs_go_on or not isinstance(executor, KnowsJobs):
            return []
        return [job_id for job_id in self._clients if executor.job_client(job_id) is not None]

    def close(self) -> None:
        """Cancel the jobs that would end with the process anyway."""
        for job_id in self.jobs_that_end_with_it():
            self._clients.pop(job_id).cancel().result()
