"""SHOW JOBS, DESCRIBE JOB and STOP JOB: the jobs that the executor of this process knows."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.job_client import JobClient
from firesteel.program.execution import KnownJob, KnowsJobs, get_executor
from firesteel.sql import types as t
from firesteel.sql.parser import statements as s
from firesteel.table._collections import ok, rows_result
from firesteel.table.table_result import TableResult
from firesteel.util.exceptions import TableException

__all__ = ["describe_job", "show_jobs", "stop_job"]

_TEXT: Final = t.VarCharType()
_COLUMNS: Final = t.RowType.of(
    ["job id", "job name", "status", "start time"], [_TEXT, _TEXT, _TEXT, t.LocalZonedTimestampType(3)]
)


def show_jobs(env: Any, statement: s.Show) -> TableResult:
    return _listed(env, _executor().known_jobs())


def describe_job(env: Any, statement: s.Describe) -> TableResult:
    job_id = statement.path[0]
    found = [job for job in _executor().known_jobs() if job.job_id == job_id]
    if not found:
        raise _unknown("describe", job_id)
    return _listed(env, found)


def stop_job(env: Any, statement: s.StopJob, sql: str) -> TableResult:
    """With a savepoint the answer is its path; without one the job is cancelled, as in Flink."""
    client = _client_of(statement.job_id)
    if statement.with_drain and not statement.with_savepoint:
        raise TableException(
            "Savepoint is required when drain is specified.", hint="STOP JOB 'id' WITH SAVEPOINT WITH DRAIN"
        )
    if not statement.with_savepoint:
        client.cancel().result()
        return ok(env)
    path = client.stop_with_savepoint(statement.with_drain, None).result()
    return rows_result(env, t.RowType.of(["savepoint path"], [_TEXT]), [(path,)])


def _executor() -> KnowsJobs:
    executor = get_executor()
    if not isinstance(executor, KnowsJobs):
        raise UnsupportedFeatureError("Nothing is known of jobs here: the program does not run any.")
    return executor


def _client_of(job_id: str) -> JobClient:
    client = _executor().job_client(job_id)
    if client is None:
        raise _unknown("stop", job_id)
    return client


def _listed(env: Any, jobs: Iterable[KnownJob]) -> TableResult:
    rows = [(job.job_id, job.name, job.status, _instant(job.started_ms)) for job in jobs]
    return rows_result(env, _COLUMNS, rows)


def _instant(ms: int) -> datetime.datetime | None:
    return None if ms < 0 else datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC)


def _unknown(what: str, job_id: str) -> TableException:
    return TableException(
        f"Could not {what} job {job_id}: there is no job of this id.", hint="SHOW JOBS lists those there are"
    )
