"""Jobs of table programs are stopped with a savepoint and go on with another parallelism: 2, then 3, then 1.
All changes together are those of a job that was never stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.errors import StateError
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.table import StreamTableEnvironment
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import RECOVERY, env_with, submit
from tests.runtime.support import SteppedClock, local_platform
from tests.sql.operators.changelogs import Change
from tests.sql.recoverable import QUERIES, Input, Query
from tests.sql.test_faults import MINI_BATCH, check
from tests.waiting import patience

_GIVEN = Input(rows=600, rate=1_000)
_THIRD_MS = 200  # in which a third of the rows comes


class _Job:
    """A query that runs on a stepped clock, which goes on from job to job.

    :param begin: the savepoint it begins with.
    """

    def __init__(
        self, query: Query, parallelism: int, clock: SteppedClock, begin: str | None, **options: str
    ) -> None:
        if begin is not None:
            options[RECOVERY] = begin
        self.clock = clock
        env = env_with(parallelism, clock=self.clock, **options)
        env.set_max_parallelism(16)
        tables = StreamTableEnvironment.create(env)
        tables.get_config().set_local_timezone("UTC")
        for statement in _GIVEN.tables():
            tables.execute_sql(statement)
        self.sink = CollectingSink()
        tables.to_changelog_stream(tables.sql_query(query.sql)).sink_to(self.sink)
        self.job: JobGateway = submit(env)
        self.clock.settle()

    @property
    def changes(self) -> list[Change]:
        return [(str(row.get_row_kind()), *row) for row in self.sink.values]

    def stop(self, directory: Path) -> str:
        """Let a third of the rows come, and return the path of a savepoint."""
        for _ in range(_THIRD_MS // 50):
            self.clock.tick(50)
        assert self.job.status is JobStatus.RUNNING
        path: str = self.job.savepoint(SavepointRequest(str(directory), stop=True)).result(patience(20))
        assert self.job.wait(10)
        return path

    def end(self) -> None:
        while not self.job.wait(0.01):
            self.clock.advance(50)
        assert self.job.status is JobStatus.FINISHED, self.job.error


@pytest.mark.parametrize("mini_batch", [False, True], ids=["each row", "mini-batch"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_goes_on_with_another_parallelism(query: Query, mini_batch: bool, tmp_path: Path) -> None:
    options = MINI_BATCH if mini_batch else {}
    with local_platform():
        changes: list[Change] = []
        counts: list[int] = []
        clock = SteppedClock()
        savepoint: str | None = None
        for parallelism in (2, 3, 1):
            job = _Job(query, parallelism, clock, savepoint, **options)
            if parallelism == 1:
                job.end()
            else:
                savepoint = job.stop(tmp_path)
            changes += job.changes
            counts.append(len(job.changes))
    assert all(counts), "each of the three jobs gave some of the changes"
    check(changes, query, _GIVEN)


@pytest.mark.row("S-SAVE-10")
def test_state_without_an_operator_in_the_new_plan_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with local_platform():
        clock = SteppedClock()
        job = _Job(Query("SELECT k, COUNT(*) FROM numbers GROUP BY k", lambda _: []), 2, clock, None)
        savepoint = job.stop(tmp_path)
        with pytest.raises(StateError, match="holds the state of operator 'GroupAggregate'") as found:
            _Job(Query("SELECT k, n FROM numbers WHERE n > 0", lambda _: []), 2, clock, savepoint)
    assert "EXPLAIN JSON_EXECUTION_PLAN" in str(found.value)
    assert "change_operator_identifier" in str(found.value)
    assert "groupaggregate" in str(found.value.uid)
