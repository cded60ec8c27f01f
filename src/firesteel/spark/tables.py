"""Batch tables of Spark as sources and results of jobs (``from_spark``, ``to_spark``)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.program.spark_tables import StagedFrame
from firesteel.storage.filesystems import resolve, walk

if TYPE_CHECKING:
    import pyarrow as pa


def stage_table(frame: DataFrame, root: str) -> StagedFrame:
    """Write the rows of a batch DataFrame once, by Spark; the source reads what was written."""
    if frame.isStreaming:
        raise UnsupportedFeatureError(
            "from_spark takes a batch DataFrame, not a streaming one",
            hint="read the stream with a source of firesteel.datastream.connectors",
        )
    directory = f"{root}/from-spark-{uuid4().hex}"
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    frame.write.parquet(directory)
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    return StagedFrame(ColumnarFileSource((directory,), Columns("parquet"), zone), directory, schema)


def read_staged(session: SparkSession, schema: pa.Schema, directory: str) -> DataFrame:
    """What a job has written into ``directory``, as a DataFrame; ``schema``: its columns, which count where
    there are no records."""
    storage, path = resolve(directory)
    if storage.info(path) is None or not any(file.path.endswith(".parquet") for file in walk(storage, path)):
        import pyarrow as pa

        return session.createDataFrame(pa.Table.from_batches([], schema=schema))
    return session.read.parquet(directory)
