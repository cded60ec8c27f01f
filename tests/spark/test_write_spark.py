"""``ds.write_spark``: batches of records in tables that Spark writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

from firesteel.common import Types
from firesteel.common.errors import FiresteelError
from firesteel.connectors import CommitRequest, Committable, CommitterContext, WriterContext
from firesteel.connectors.spark_sink import SparkTableSink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.sinks import CommitOutcome
from firesteel.program.spark_tables import SparkTarget
from firesteel.spark.table_sink import TableCommitter
from tests.spark.conftest import MakeEnvironment

pytestmark = pytest.mark.spark


class Run:
    """Writers and a committer of one sink, driven as a job drives them."""

    def __init__(self, target: SparkTarget, tmp_path: Path, session: SparkSession) -> None:
        self.sink = SparkTableSink(target, Types.LONG())
        self.session = session
        self._target, self._dir = target, tmp_path / "staged"
        self.restart()

    def restart(self) -> None:
        context = CommitterContext("job", "sink", lambda: 0)
        self.committer = TableCommitter(self._target, context, lambda: self.session)
        self.committer.open()

    def stage(self, epoch: int, *records: list[int]) -> list[Committable]:
        """What a checkpoint holds of the records of some subtasks."""
        found = []
        for subtask, values in enumerate(records):
            context = WriterContext(subtask, len(records), f"{epoch}-{subtask}", str(self._dir), epoch)
            writer = self.sink.create_writer(context)
            writer.write_batch(values, None)
            found += [Committable(subtask, epoch, payload) for payload in writer.prepare_commit()]
        return list(self.committer.pre_commit(found))

    def commit(self, batch: list[Committable], *, recovered: bool = False) -> CommitOutcome:
        requests = [CommitRequest(committable, recovered=recovered) for committable in batch]
        self.committer.commit(requests)
        return requests[-1].outcome


def test_a_batch_that_comes_again_replaces_itself(tmp_path: Path, spark_session: SparkSession) -> None:
    path = tmp_path / "table"
    run = Run(SparkTarget("parquet", str(path)), tmp_path, spark_session)
    first = run.stage(1, [1, 2], [3])
    run.commit(first)
    run.restart()  # and the driver died before it could remove what was staged
    run.commit(first, recovered=True)
    second = run.stage(2, [4])
    assert run.commit(second) is CommitOutcome.COMMITTED
    run.committer.post_commit(second)
    assert run.commit(second, recovered=True) is CommitOutcome.COMMITTED
    found = spark_session.read.parquet(str(path))
    assert sorted(row.value for row in found.collect()) == [1, 2, 3, 4]
    assert len({row.batch for row in found.collect()}) == 2
    with pytest.raises(FiresteelError, match="gone"):
        run.commit(second)


def test_a_function_is_told_which_batch_it_writes(tmp_path: Path, spark_session: SparkSession) -> None:
    seen: list[Any] = []
    run = Run(
        SparkTarget(lambda frame, batch: seen.append((batch, sorted(r.value for r in frame.collect())))),
        tmp_path,
        spark_session,
    )
    batch = run.stage(1, [1], [2])
    run.commit(batch)
    run.restart()
    run.commit(batch, recovered=True)
    run.commit(run.stage(2, [3]))
    (first, one), (again, two), (other, three) = seen
    assert (one, two, three) == ([1, 2], [1, 2], [3])
    assert first.id == again.id != other.id
    assert first.app != other.app, "two drivers never give one name to two batches"
    assert (first.recovered, again.recovered, first.version) == (False, True, 1)


class Transactions(DataSource):
    """Has Delta's options for writing once: what is not above the last version of its writer is left out."""

    @classmethod
    def name(cls) -> str:
        return "delta"

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return TransactionWriter(dict(self.options))


class TransactionWriter(DataSourceWriter):
    def __init__(self, options: dict[str, str]) -> None:
        self.options = {key.lower(): value for key, value in options.items()}

    def write(self, iterator: Any) -> WriterCommitMessage:
        message = WriterCommitMessage()
        message.values = [row.value for row in iterator]  # type: ignore[attr-defined]
        return message

    def commit(self, messages: Any) -> None:
        log = Path(self.options["path"])
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        app, version = self.options["txnappid"], int(self.options["txnversion"])
        if any(entry["app"] == app and entry["version"] >= version for entry in entries):
            return
        values = sorted(value for message in messages if message for value in message.values)
        with log.open("a") as file:
            file.write(json.dumps({"app": app, "version": version, "values": values}) + "\n")


def test_delta_is_told_the_transaction(tmp_path: Path, spark_session: SparkSession) -> None:
    spark_session.dataSource.register(Transactions)
    log = tmp_path / "log"
    run = Run(SparkTarget("delta", str(log)), tmp_path, spark_session)
    one, two = run.stage(1, [1, 2]), run.stage(2, [3])
    run.commit([*one, *two])
    run.restart()
    run.commit([*one, *two], recovered=True)
    run.commit(run.stage(3, [4]))
    assert [json.loads(line)["values"] for line in log.read_text().splitlines()] == [[1, 2], [3], [4]]


def test_a_job_writes_a_batch_for_each_checkpoint(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(2, epoch_records=500)
    env.enable_checkpointing(50)
    path = tmp_path / "table"
    stream = env.from_sequence(1, 3_000).map(
        lambda n: (n, str(n)), Types.TUPLE([Types.LONG(), Types.STRING()])
    )
    stream.write_spark("orc", str(path), compression="zlib").name("to the table")
    env.execute()
    session = SparkSession.builder.getOrCreate()
    found = session.read.orc(str(path)).collect()
    assert sorted((row.f0, row.f1) for row in found) == sorted((n, str(n)) for n in range(1, 3_001))


def test_an_unknown_data_source_ends_the_job_before_it_begins(environment: MakeEnvironment) -> None:
    env = environment(1)
    env.from_sequence(1, 3).write_spark("no-such-source", at_least_once=True)
    with pytest.raises(FiresteelError, match="no-such-source"):
        env.execute()


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.write_spark(3),
        lambda s: s.write_spark("jdbc", url="jdbc:postgresql:x"),
        lambda s: s.write_spark("delta"),
        lambda s: s.write_spark("parquet", table="t"),
        lambda s: s.write_spark("parquet", "/a", table="t"),
        lambda s: s.write_spark(print, "/a"),
        lambda s: s.map(str).write_spark("parquet", "/a"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_written(write: Callable[[Any], Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(FiresteelError):
        write(env.from_sequence(1, 3))


def test_what_is_committed_after_a_jvm_was_lost_goes_through_the_session_that_there_is_then(
    tmp_path: Path, spark_session: SparkSession
) -> None:
    path = tmp_path / "table"
    run = Run(SparkTarget("parquet", str(path)), tmp_path, spark_session)
    staged = run.stage(1, [1, 2])
    asked: list[str] = []

    class Another:
        """Of the JVM that has taken the place of the first one."""

        @property
        def read(self) -> Any:
            asked.append("read")
            return spark_session.read

    run.session = Another()  # type: ignore[assignment]
    run.commit(staged)
    assert asked == ["read"]
    assert sorted(row.value for row in spark_session.read.parquet(str(path)).collect()) == [1, 2]
