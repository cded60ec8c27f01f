"""The levels of a job as stages of a Spark job: ``range -> mapInArrow -> exchange -> mapInArrow -> ...``.

A Spark row is a buffer of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.types import BinaryType, ByteType, IntegerType, LongType, StructField, StructType

from firesteel.runtime.wire import WireRow

#: What runs in the Python worker of a task.
MapRows: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_SCHEMA: Final = StructType(
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


def frame_of(
    session: SparkSession, tasks: Sequence[MapRows], widths: Sequence[int], *, ordered: bool
) -> DataFrame:
    """A new plan. Running one again would find its shuffle written, and skip the stages before.

    :param tasks: what the tasks of each level do.
    :param ordered: a task gets its rows in the order of ``(ord, channel)``: when all are there.
    """
    frame = session.range(0, widths[0], 1, widths[0]).mapInArrow(tasks[0], _SCHEMA)
    for task, width in zip(tasks[1:], widths[1:], strict=True):
        # Rows for a deeper level pass through: they may have a target beyond this level's width.
        frame = frame.repartitionById(width, F.pmod(F.col("target"), F.lit(width)))
        frame = (frame.sortWithinPartitions("ord", "channel") if ordered else frame).mapInArrow(task, _SCHEMA)
    return frame


def no_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
    """The rows of the first level. What Spark gives it only makes the task."""
    for _ in batches:
        continue
    yield from ()


def read_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
    for batch in batches:
        yield from map(WireRow, *(column.to_pylist() for column in batch.columns))


def to_arrow(rows: Sequence[WireRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(c), field.type) for c, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
