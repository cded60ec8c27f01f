"""Batch tables of Spark as sources and results of jobs (``env.from_spark``, ``ds.to_spark``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.connectors.spark_sink import ParquetStagingSink
from firesteel.program.sources import Boundedness, Source
from firesteel.program.spark_tables import StagedFrame
from firesteel.program.transformations import SinkTransformation, SourceTransformation, Transformation


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


def staging_sink(transformation: Transformation, directory: str) -> SinkTransformation:
    """The sink that ``to_spark`` adds to the program."""
    _refuse_unbounded(transformation)
    if transformation.output_type is None:
        raise ProgramError(
            "to_spark needs the type of the records",
            operator=transformation.name,
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])) or Types.TUPLE([...])",
        )
    return SinkTransformation(
        name="to_spark", input=transformation, sink=ParquetStagingSink(directory, transformation.output_type)
    )


def _refuse_unbounded(transformation: Transformation) -> None:
    pending: list[Transformation] = [transformation]
    while pending:
        t = pending.pop()
        pending += t.inputs
        if isinstance(t, SourceTransformation) and _unbounded(t.source):
            raise UnsupportedFeatureError(
                "to_spark needs a bounded stream", operator=t.name, hint="write the stream with a sink"
            )


def _unbounded(source: Source) -> bool:
    return source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED


def read_staged(session: SparkSession, sink: SinkTransformation, directory: str) -> DataFrame:
    """What the job has written, as a DataFrame. A result without records has the declared columns."""
    staging: Any = sink.sink
    if "://" not in directory and not any(Path(directory).glob("*.parquet")):
        import pyarrow as pa

        return session.createDataFrame(pa.Table.from_batches([], schema=staging.schema()))
    return session.read.parquet(directory)
