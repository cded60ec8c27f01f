"""Batches of records into tables that Spark writes (``ds.write_spark``): how each batch appears once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.program.sinks import CommitRequest, Committable, Committer, CommitterContext
from firesteel.program.spark_tables import PACKAGES, SparkBatch, SparkTarget
from firesteel.storage.filesystems import join, resolve
from firesteel.storage.records import record


@record("table batch")
@dataclass(frozen=True, slots=True)
class _Staged:
    """The files of a batch; what a checkpoint holds of it."""

    app: str
    version: int
    files: tuple[str, ...]


class TableCommitter(Committer):
    """The files of all subtasks since the last checkpoint become one batch, which Spark writes.

    A batch has its name before the checkpoint that holds it is written, so that it is known again when it is
    to be committed once more. Two drivers never give the same name: ``app`` is new in each.

    :param session: gives the session that there is: it may be another one than before.
    """

    def __init__(
        self, target: SparkTarget, context: CommitterContext, session: Callable[[], SparkSession]
    ) -> None:
        self._target = target
        self._session = session
        self._app = f"{context.transaction_prefix}{uuid.uuid4().hex[:12]}"
        self._version = 0
        self._write = _function(target)

    def open(self) -> None:
        kind = self._target.format
        if isinstance(kind, str):
            check_format(self._session(), kind)

    def pre_commit(self, committables: Sequence[Committable]) -> Sequence[Committable]:
        last = committables[-1]
        self._version += 1
        files = tuple(committable.payload for committable in committables)
        return [Committable(last.subtask_index, last.epoch, _Staged(self._app, self._version, files))]

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            staged: _Staged = request.get_committable()
            missing = [file for file in staged.files if not _exists(file)]
            if missing and request.recovered and len(missing) == len(staged.files):
                request.signal_already_committed()  # files go when their batch is written
            elif missing:
                raise FiresteelError(f"staged records of a Spark table are gone: {missing[0]}")
            else:
                frame = self._session().read.parquet(*staged.files)
                self._write(frame, SparkBatch(staged.app, staged.version, request.recovered))

    def post_commit(self, committables: Sequence[Committable]) -> None:
        for committable in committables:
            for file in committable.payload.files:
                storage, path = resolve(file)
                storage.delete(path)


def _exists(file: str) -> bool:
    storage, path = resolve(file)
    return storage.info(path) is not None


def check_format(session: SparkSession, kind: str) -> None:
    """:raises ConfigurationError: Spark does not have this data source."""
    jvm: Any = session._jvm
    conf = session._jsparkSession.sessionState().conf()
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(kind, conf)
    except Exception as error:  # ClassNotFoundException or what a source of its own raises
        raise ConfigurationError(
            f"Spark has no data source {kind!r}",
            detail=str(error).splitlines()[0][:300],
            hint=f"give the session its jar, by spark.jars.packages or spark.jars{_package(kind)}",
        ) from error


def _package(kind: str) -> str:
    package = PACKAGES.get(kind.lower())
    return "" if package is None else f": {package}, of a version for this Spark"


_Write = Callable[[DataFrame, SparkBatch], Any]


def _function(target: SparkTarget) -> _Write:
    if not isinstance(target.format, str):
        return target.format
    if target.at_least_once:
        return lambda frame, batch: _save(frame, target)
    exactly_once = _delta if target.format == "delta" else _directory
    return lambda frame, batch: exactly_once(frame, batch, target)


def _save(frame: DataFrame, target: SparkTarget, **more: str) -> None:
    writer = frame.write.format(str(target.format)).mode("append").options(**target.options, **more)
    if target.table is not None:
        writer.saveAsTable(target.table)
    elif target.path is not None:
        writer.save(target.path)
    else:
        writer.save()


def _delta(frame: DataFrame, batch: SparkBatch, target: SparkTarget) -> None:
    """Delta keeps the highest version of each writer in its log, and leaves out what is not above it."""
    _save(frame, target, txnAppId=batch.app, txnVersion=str(batch.version))


def _directory(frame: DataFrame, batch: SparkBatch, target: SparkTarget) -> None:
    """A directory for each batch; one that is written again replaces it."""
    writer = frame.write.format(str(target.format)).mode("overwrite").options(**target.options)
    writer.save(join(str(target.path), f"batch={batch.id}"))
