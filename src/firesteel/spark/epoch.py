"""An epoch as a Spark job, whose rows are sorted before each level and collected behind the last one.

A Spark row is a buffer of records.

Behind the last row of each task's input comes one that says so. Spark ends the input of a task that it has
killed, as it does with the slower one of two copies, by closing the connection, and to a reader of Arrow
streams that is an end like any other: the copy would take a part of its input for all of it, and have sinks
stage a transaction that nobody ever commits or aborts.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, ByteType, IntegerType, LongType, StructField, StructType

from firesteel.common.errors import EngineError
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.shipped_level import pack_level, unpack_level
from firesteel.runtime.task import run_level
from firesteel.runtime.task_name import rows_in_task
from firesteel.runtime.waited_for import begin_task
from firesteel.runtime.wire import Body, RowKind, WireRow
from firesteel.runtime.worker import dedicate_process
from firesteel.spark.connection import is_waited_for
from firesteel.spark.copies import makes_copies, wait_for_copies
from firesteel.spark.level_plan import LevelPlans
from firesteel.spark.levels import MapRows, no_rows
from firesteel.spark.own_thread import InOwnThread
from firesteel.spark.reports import Reports, report
from firesteel.spark.session import EPOCHS, child_session

_SCHEMA: Final = StructType(
    [
        StructField("target", IntegerType(), False),
        StructField("channel", IntegerType(), False),
        StructField("ord", LongType(), False),
        StructField("kind", ByteType(), False),
        StructField("body", BinaryType(), False),
    ]
)
#: A latency marker has the number of the buffer before it: the kind says which comes first.
_ORDER: Final = ("ord", "channel", "kind")
_ARROW: Final = pa.schema(
    [
        pa.field("target", pa.int32(), False),
        pa.field("channel", pa.int32(), False),
        pa.field("ord", pa.int64(), False),
        pa.field("kind", pa.int8(), False),
        pa.field("body", pa.binary(), False),
    ]
)
_BEHIND_ALL: Final = (1 << 63) - 1
_BATCH_ROWS: Final = 16
_BATCH_BYTES: Final = 1024 * 1024


class Epochs:
    """Runs the epochs of jobs, each as one Spark job, in a session of their own beside *parent*."""

    def __init__(self, parent: SparkSession) -> None:
        self.parent = parent
        self.session = child_session(parent, EPOCHS)
        self._plans = LevelPlans(self.session, _SCHEMA, _ORDER)
        self._makes_copies = makes_copies(self.session.sparkContext)

    def run(
        self,
        levels: Sequence[LevelDescriptor],
        parallelism: Sequence[int],
        reports: Reports | None = None,
    ) -> list[Answer]:
        """Run all levels and return what the subtasks answered.

        :param reports: takes what the tasks report beside that; it comes before the answers do.
        """
        beside = None if reports is None else reports.accumulator
        tasks = [
            _level(level, consumers, beside)
            for level, consumers in zip(levels, [*parallelism[1:], 0], strict=True)
        ]
        answers = self._plans.run(tasks, parallelism)
        kinds, bodies = answers.column("kind").to_pylist(), answers.column("body").to_pylist()
        found = [pickle.loads(b) for k, b in zip(kinds, bodies, strict=True) if k != RowKind.DATA]
        if reports is None:
            return found
        of_tasks = reports.take()
        if self._makes_copies:  # none may write beside the tasks of the next epoch
            wait_for_copies(self.session.sparkContext, (report.stage for report in of_tasks))
        return [*found, *of_tasks]


def _level(descriptor: LevelDescriptor, consumers: int, beside: Any) -> MapRows:
    """:param consumers: how many tasks the next level has."""
    return InOwnThread(partial(_map_level, pack_level(descriptor), consumers, beside))


def _map_level(
    payload: bytes, consumers: int, beside: Any, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    dedicate_process()
    begin_task(is_waited_for())
    subtask = context.partitionId()
    descriptor = unpack_level(payload, subtask)
    rows = no_rows(batches) if descriptor.level == 0 else _read(batches)
    sink = None if beside is None else partial(report, beside, context)
    made = rows_in_task(descriptor.job_id, descriptor.level, run_level(descriptor, subtask, rows, sink))
    yield from _pack(made if subtask else chain(made, _ends(consumers)))


def _ends(consumers: int) -> Iterator[WireRow]:
    """The last row of each task of the next level. One task sends them for all: rows are sorted when all of
    them are there."""
    for consumer in range(consumers):
        yield WireRow(consumer, -1, _BEHIND_ALL, RowKind.END, b"")


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
    is_whole = False
    for batch in batches:
        *columns, bodies = batch.columns
        for row in map(WireRow, *(column.to_pylist() for column in columns), _bodies(bodies)):
            if row.kind == RowKind.END:
                is_whole = True
            else:
                yield row
    if not is_whole:
        raise EngineError(
            "The input of a task ended too early",
            detail="Spark has closed the connection to the Python worker, as it does when it kills a task",
        )


def _bodies(column: pa.Array) -> list[Body]:
    """Not copied: many are for deeper levels and only pass through."""
    _, offsets, data = column.buffers()
    if data is None:
        return [b""] * len(column)
    ends = memoryview(offsets).cast("i")[column.offset : column.offset + len(column) + 1].tolist()
    every = memoryview(data)
    return [every[start:stop] for start, stop in pairwise(ends)]


def _pack(rows: Iterable[WireRow]) -> Iterator[pa.RecordBatch]:
    """Many buffers to a RecordBatch: small Arrow batches cost far more than their bytes."""
    pending: list[WireRow] = []
    size = 0
    for row in rows:
        pending.append(row)
        size += len(row.body)
        if len(pending) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield _to_arrow(pending)
            pending, size = [], 0
    if pending:
        yield _to_arrow(pending)


def _to_arrow(rows: list[WireRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(c), field.type) for c, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
