"""A session of PySpark's and one job with a Python function over Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").getOrCreate()
    print(session.range(0, 3, 1, 2).mapInArrow(same, "id long").toArrow().to_pylist())
