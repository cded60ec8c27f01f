"""The levels of a job as stages of a Spark job: ``range -> mapInArrow -> exchange -> mapInArrow -> ...``.

A Spark row has a number, ``target``, which says the task of the next level that gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.types import StructType

from firesteel.runtime.wire import WireRow

#: What runs in the Python worker of a task.
MapRows: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def frame_of(
    session: SparkSession,
    tasks: Sequence[MapRows],
    widths: Sequence[int],
    schema: StructType,
    order: Sequence[str] = (),
) -> DataFrame:
    """A new plan. Running one again would find its shuffle written, and skip the stages before.

    :param tasks: what the tasks of each level do.
    :param order: columns by which the rows of a task are sorted: when all are there.
    """
    frame = session.range(0, widths[0], 1, widths[0]).mapInArrow(tasks[0], schema)
    for task, width in zip(tasks[1:], widths[1:], strict=True):
        # Rows for a deeper level pass through: they may have a target beyond this level's width.
        frame = frame.repartitionById(width, F.pmod(F.col("target"), F.lit(width)))
        frame = (frame.sortWithinPartitions(*order) if order else frame).mapInArrow(task, schema)
    return frame


def no_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[WireRow]:
    """The rows of the first level. What Spark gives it only makes the task."""
    for _ in batches:
        continue
    yield from ()
