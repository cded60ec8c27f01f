"""An epoch as a Spark job: ``range -> mapInArrow -> exchange -> mapInArrow -> ... -> collect``.

A Spark row is a buffer of records. Each epoch gets a new plan: running the same one again would find its
shuffle written and skip the map side.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.types import BinaryType, ByteType, IntegerType, LongType, StructField, StructType

from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.task import run_level
from firesteel.runtime.wire import RowKind, WireRow
from firesteel.runtime.worker import dedicate_process

SCHEMA: Final = StructType(
    [
        StructField("target", IntegerType(), False),
        StructField("channel", IntegerType(), False),
        StructField("ord", LongType(), False),
        StructField("kind", ByteType(), False),
        StructField("body", BinaryType(), False),
    ]
)
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
    session: SparkSession, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]
) -> list[Answer]:
    """Run all levels as one Spark job and return what the subtasks answered."""
    frame = session.range(0, parallelism[0], 1, parallelism[0]).mapInArrow(_level(levels[0]), SCHEMA)
    for descriptor, width in zip(levels[1:], parallelism[1:], strict=True):
        # Rows for a deeper level pass through: they may have a target beyond this level's width.
        target = F.pmod(F.col("target"), F.lit(width))
        frame = (
            frame.repartitionById(width, target)
            .sortWithinPartitions("ord", "channel")
            .mapInArrow(_level(descriptor), SCHEMA)
        )
    answers = frame.select("kind", "body").toArrow()
    return [
        pickle.loads(body)
        for kind, body in zip(answers.column(0).to_pylist(), answers.column(1).to_pylist(), strict=True)
        if kind != RowKind.DATA
    ]


def _level(descriptor: LevelDescriptor) -> Any:
    return partial(_map_level, pickle.dumps(descriptor, 5))


def _map_level(payload: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What runs in the Python worker of a task."""
    context = TaskContext.get()
    assert context is not None
    dedicate_process()
    descriptor: LevelDescriptor = pickle.loads(payload)
    rows = no_rows(batches) if descriptor.level == 0 else read_rows(batches)
    yield from _pack(run_level(descriptor, context.partitionId(), rows))


def no_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
    for _ in batches:  # the row of spark.range: it only makes the task
        continue
    yield from ()


def read_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
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
            yield to_arrow(pending)
            pending, size = [], 0
    if pending:
        yield to_arrow(pending)


def to_arrow(rows: list[WireRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(c), field.type) for c, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
