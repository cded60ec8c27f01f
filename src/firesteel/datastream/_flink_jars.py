"""Jars that a program for PyFlink asks for."""

from __future__ import annotations

import re
from typing import Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.logs import logger

log = logger(__name__)

# flink-connector-kafka-4.0.1-2.0.jar, flink-sql-connector-kafka.jar, flink-sql-avro-2.3.0.jar
_IN_PYTHON: Final = re.compile(
    r"flink-(?:sql-)?"
    r"(?:connector-(?:kafka|files|jdbc|rabbitmq|elasticsearch\d?|pulsar|mongodb|cassandra|datagen"
    r"|kinesis|aws-kinesis-streams|aws-kinesis-firehose|kinesis-firehose|sqs)|json|csv|avro|avro-confluent-registry|parquet|orc|protobuf)"
    r"(?:_2\.\d+)?(?:-[\d.]+)*\.jar"
)


def pass_over_jars(method: str, paths: tuple[str, ...]) -> None:
    """Nothing is to be loaded for what Firesteel has in Python.

    :raises UnsupportedFeatureError: one of the jars is something else.
    """
    others = [path for path in paths if not _IN_PYTHON.fullmatch(path.rstrip("/").rpartition("/")[2])]
    if others:
        raise UnsupportedFeatureError(
            "Jars for Flink have no use: no JVM of Flink runs.",
            operator=method,
            detail=", ".join(others),
            hint="connectors are in firesteel.datastream.connectors; jars for Spark belong into spark.jars",
        )
    for path in paths:
        log.info("jar is not needed: its connector or format is part of firesteel jar=%s", path)
