"""What the contract does not ask: lost connections, two drivers at once, markers."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.connectors.base import CommitRequest, CommitterContext
from firesteel.datastream.connectors.jdbc import (
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
    insert_statement,
)
from firesteel.program.sinks import CommitOutcome
from firesteel.testing.connectors import SinkRun
from tests.waiting import patience

from .conftest import Target

NAMES = ["id", "text"]
ROW = Types.ROW_NAMED(NAMES, [Types.LONG(), Types.STRING()])
DAY_MS = 24 * 3_600_000


def exactly_once(target: Target, **options: Any) -> Any:
    builder = JdbcExactlyOnceOptions.builder()
    if options:
        builder.with_marker_retention_ms(options["retention_ms"])
    sql = insert_statement("out", NAMES)
    return JdbcSink.exactly_once_sink(sql, ROW, target.connection, builder.build()).to_sink(ROW)


def rows(*numbers: int) -> list[Row]:
    return [Row(id=n, text=str(n)) for n in numbers]


def ids(target: Target) -> list[int]:
    return sorted(n for (n,) in target.run("SELECT id FROM out"))


@pytest.fixture
def table(target: Target) -> Target:
    target.run("CREATE TABLE out (id BIGINT, text TEXT)")
    return target


def end_connections(postgres: Target) -> None:
    """As a server does that is restarted."""
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{postgres.name}' AND pid <> pg_backend_pid()"
    )


def test_a_writer_connects_again(postgres: Target, tmp_path: Path) -> None:
    postgres.run("CREATE TABLE out (id BIGINT, text TEXT)")
    execution = JdbcExecutionOptions.builder().with_batch_size(2).build()
    sink = JdbcSink.sink(insert_statement("out", NAMES), ROW, postgres.connection, execution).to_sink(ROW)
    writer = SinkRun(sink, tmp_path).writer(1)
    writer.write_batch(rows(1, 2), None)
    assert ids(postgres) == [1, 2], "a batch that is full is sent"
    end_connections(postgres)
    writer.write_batch(rows(3), None)
    assert ids(postgres) == [1, 2]
    writer.flush(False)
    assert ids(postgres) == [1, 2, 3]


def test_a_connection_is_lost_in_the_middle_of_a_commit(postgres: Target, tmp_path: Path) -> None:
    """That of subtask 0, which has to wait; what subtask 1 writes stays, and is not written again."""
    postgres.run("CREATE TABLE out (id BIGINT PRIMARY KEY, text TEXT)")
    sink = exactly_once(postgres)
    run = SinkRun(sink, tmp_path)
    staged = [*run.stage(1, rows(1, 2)), *run.stage(1, rows(5, 6), 1), *run.stage(2, rows(3, 4))]
    committer = sink.create_committer(CommitterContext("job", "sink", lambda: 0))
    requests = [CommitRequest(c) for c in staged]
    with closing(postgres.connect()) as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO out VALUES (4, 'not yet')")
        commit = threading.Thread(target=committer.commit, args=(requests,))
        commit.start()
        waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while not postgres.run(f"SELECT pg_terminate_backend(pid) {waiting}"):
            assert commit.is_alive(), "the commit does not wait for the row"
    commit.join(patience(60))
    retry, committed = CommitOutcome.RETRY, CommitOutcome.COMMITTED
    assert [r.outcome for r in requests] == [retry, committed, retry]
    assert ids(postgres) == [5, 6]
    run.commit(staged)
    assert ids(postgres) == [1, 2, 3, 4, 5, 6]


def test_what_the_database_never_takes_fails_the_commit_whole(table: Target, tmp_path: Path) -> None:
    run = SinkRun(exactly_once(table), tmp_path)
    staged = [*run.stage(1, rows(1)), *run.stage(2, rows(2))]
    table.run("DROP TABLE out")
    table.run("CREATE TABLE out (id BIGINT CHECK (id < 2), text TEXT)")
    requests = [CommitRequest(c) for c in staged]
    assert run.committer is not None
    run.committer.commit(requests)
    assert [r.outcome for r in requests] == [CommitOutcome.FAILED] * 2
    assert ids(table) == []
    assert table.run("SELECT * FROM firesteel_commits") == []


def test_two_drivers_that_commit_the_same_at_once(table: Target, tmp_path: Path) -> None:
    """One that believes that the job is still its own: whoever comes second finds the markers."""
    runs = [SinkRun(exactly_once(table), tmp_path, run="r") for _ in range(2)]
    staged = [c for epoch in range(1, 6) for c in runs[0].stage(epoch, rows(epoch, epoch + 100))]
    barrier = threading.Barrier(2)
    failed: list[BaseException] = []

    def commit(run: SinkRun) -> None:
        try:
            barrier.wait(patience(10))
            run.commit(staged)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=commit, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience(60))
    assert failed == []
    assert ids(table) == [1, 2, 3, 4, 5, 101, 102, 103, 104, 105]


def test_old_markers_go_and_those_of_others_stay(table: Target, tmp_path: Path) -> None:
    run = SinkRun(exactly_once(table, retention_ms=DAY_MS), tmp_path).at(10 * DAY_MS)
    run.commit(run.stage(1, rows(1)))
    table.run(f"INSERT INTO firesteel_commits VALUES ('another job', 'sink', 'x', {DAY_MS})")
    later = run.at(10 * DAY_MS + DAY_MS // 2).stage(2, rows(2))
    run.commit(later)
    assert len(table.run("SELECT * FROM firesteel_commits")) == 3
    run.at(11 * DAY_MS + 1).commit(run.stage(3, rows(3)))
    kept = table.run("SELECT job_id, committed_ms FROM firesteel_commits ORDER BY committed_ms")
    assert kept == [
        ("another job", DAY_MS),
        ("job", 10 * DAY_MS + DAY_MS // 2),
        ("job", 11 * DAY_MS + 1),
    ]
    run.commit(later, recovered=True)
    assert ids(table) == [1, 2, 3]


def test_many_rows_are_staged_in_a_file(table: Target, tmp_path: Path) -> None:
    run = SinkRun(exactly_once(table), tmp_path)
    staged = run.stage(1, [Row(id=n, text=f"{n} is long enough") for n in range(5_000)])
    assert staged[0].payload[1].data is None
    run.commit(staged)
    assert len(ids(table)) == 5_000
