"""An epoch as a Spark job, whose rows are sorted before each level and collected behind the last one.

A Spark row is a buffer of records.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, ByteType, IntegerType, LongType, StructField, StructType

from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.task import run_level
from firesteel.runtime.task_name import rows_in_task
from firesteel.runtime.wire import RowKind, WireRow
from firesteel.runtime.worker import dedicate_process
from firesteel.spark.levels import MapRows, frame_of, no_rows
from firesteel.spark.reports import Reports, report

_SCHEMA: Final = StructType(
    [
        StructField("target", IntegerType(), False),
        StructField("channel", IntegerType(), False),
        StructField("ord", LongType(), False),
        StructField("kind", ByteType(), False),
        StructField("body", BinaryType(), False),
    ]
)
_ORDER: Final = ("ord", "channel")
_ARROW: Final = pa.schema(
    [
        pa.field("target", pa.int32(), False),
        pa.field("channel", pa.int32(), False),
        pa.field("ord", pa.int64(), False),
        pa.field("kind", pa.int8(), False),
        pa.field("body", pa.binary(), False),
    ]
)
_BATCH_ROWS: Final = 16
_BATCH_BYTES: Final = 1024 * 1024


def run_epoch(
    session: SparkSession,
    levels: Sequence[LevelDescriptor],
    parallelism: Sequence[int],
    reports: Reports | None = None,
) -> list[Answer]:
    """Run all levels as one Spark job and return what the subtasks answered.

    :param reports: takes what the tasks report beside that; it comes before the answers do.
    """
    beside = None if reports is None else reports.accumulator
    # A latency marker has the number of the buffer before it: the kind says which comes first.
    order = (*_ORDER, "kind") if levels[0].marks_latency else _ORDER
    frame = frame_of(session, [_level(level, beside) for level in levels], parallelism, _SCHEMA, order)
    answers = frame.select("kind", "body").toArrow()
    found = [
        pickle.loads(body)
        for kind, body in zip(answers.column(0).to_pylist(), answers.column(1).to_pylist(), strict=True)
        if kind != RowKind.DATA
    ]
    return found if reports is None else [*found, *reports.take()]


def _level(descriptor: LevelDescriptor, beside: Any) -> MapRows:
    return partial(_map_level, pickle.dumps(descriptor, 5), beside)


def _map_level(payload: bytes, beside: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    dedicate_process()
    descriptor: LevelDescriptor = pickle.loads(payload)
    rows = no_rows(batches) if descriptor.level == 0 else _read(batches)
    sink = None if beside is None else partial(report, beside, context.stageId())
    made = run_level(descriptor, context.partitionId(), rows, sink)
    yield from _pack(rows_in_task(descriptor.job_id, descriptor.level, made))


def _read(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
    for batch in batches:
        yield from map(WireRow, *(column.to_pylist() for column in batch.columns))


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
