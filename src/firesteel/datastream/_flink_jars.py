"""Jars that a program for PyFlink asks for."""

from __future__ import annotations

import re
from typing import Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.logs import logger
from firesteel.connectors.registry import CONNECTORS, FORMATS, Connector, Format

log = logger(__name__)

# flink-connector-kafka-4.0.1-2.0.jar, flink-sql-connector-kafka.jar, flink-sql-avro-2.3.0.jar
_OF_FLINK: Final = re.compile(r"flink-(?:sql-)?([a-z][\w-]*?)(?:_2\.\d+)?(?:-[\d.]+)*\.jar")


def pass_over_jars(method: str, paths: tuple[str, ...]) -> None:
    """Nothing is to be loaded for what Firesteel has in Python.

    :raises UnsupportedFeatureError: one of the jars is something else.
    """
    others = [path for path in paths if not _is_in_python(path)]
    if others:
        raise UnsupportedFeatureError(
            "Jars for Flink have no use: no JVM of Flink runs.",
            operator=method,
            detail=", ".join(others),
            hint="connectors are in firesteel.datastream.connectors; jars for Spark belong into spark.jars",
        )
    for path in paths:
        log.info("jar is not needed: its connector or format is part of firesteel jar=%s", path)


def _is_in_python(path: str) -> bool:
    """Whether the jar is that of a connector or a format that is here."""
    found = _OF_FLINK.fullmatch(path.rstrip("/").rpartition("/")[2])
    if found is None:
        return False
    known: list[Connector | Format] = [*CONNECTORS.all(), *FORMATS.all()]
    return any(found[1] in record.jars for record in known)
