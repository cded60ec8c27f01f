"""Registry of connectors and formats: one record for each, under its name in Flink's tables.

A built-in one is a package of ``connectors`` or a module of ``formats``, and a line here. Other packages call
``register`` when they are imported, or are found by their entry points (``connectors/plugins.py``). Their
tables are registered apart (``sql/connectors/factory.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from firesteel.program.registry import Registry

__all__ = ["CONNECTORS", "FORMATS", "Connector", "Format"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Converts bytes to records, and back.

    :param name: as in ``'format' = 'json'``.
    :param module: the module that programs import.
    :param extra: the extra of Firesteel that it needs.
    :param jars: names, without version, of Flink's jars that a program does not need to load for it.
    """

    name: str
    module: str
    extra: str | None = None
    jars: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A system to read or write.

    :param name: as in ``'connector' = 'kafka'``.
    :param module: the module that programs import.
    :param extra: the extra of Firesteel that it needs.
    :param jars: names, without version, of Flink's jars that a program does not need to load for it.
    """

    name: str
    module: str
    extra: str | None = None
    jars: tuple[str, ...] = ()


CONNECTORS: Final = Registry("connector", Connector)
FORMATS: Final = Registry("format", Format)

_DOOR: Final = "firesteel.datastream.connectors"
_FORMATS: Final = "firesteel.datastream.formats"


def _connector(name: str, door: str, *jars: str, extra: str | None = None) -> None:
    module = f"{_DOOR}.{door}" if door else _DOOR
    found = tuple(f"connector-{jar}" for jar in jars)
    CONNECTORS.register(Connector(name=name, module=module, extra=extra, jars=found))


def _format(name: str, door: str, *jars: str, extra: str | None = None) -> None:
    FORMATS.register(Format(name=name, module=f"{_FORMATS}.{door}", extra=extra, jars=jars))


_connector("cassandra", "cassandra", "cassandra", extra="cassandra")
_connector("datagen", "", "datagen")
_connector(
    "elasticsearch", "elasticsearch", "elasticsearch", *(f"elasticsearch{version}" for version in range(5, 9))
)
_connector("filesystem", "file_system", "files")
_connector("firehose", "kinesis", "aws-kinesis-firehose", "kinesis-firehose", extra="kinesis")
_connector("jdbc", "jdbc", "jdbc", extra="jdbc")
_connector("kafka", "kafka", "kafka", extra="kafka")
_connector("kinesis", "kinesis", "kinesis", "aws-kinesis-streams", extra="kinesis")
_connector("mongodb", "mongodb", "mongodb", extra="mongodb")
_connector("pulsar", "pulsar", "pulsar", extra="pulsar")
_connector("rabbitmq", "rabbitmq", "rabbitmq", extra="rabbitmq")
_connector("redis", "redis", extra="redis")
_connector("sqs", "sqs", "sqs", extra="kinesis")

_format("avro", "avro", "avro", extra="avro")
_format("avro-confluent", "avro_confluent", "avro-confluent-registry", extra="avro")
_format("changelog-json", "changelog_json")
_format("csv", "csv", "csv")
_format("json", "json", "json")
_format("orc", "orc", "orc")
_format("parquet", "parquet", "parquet")
_format("protobuf", "protobuf", "protobuf", extra="protobuf")
_format("raw", "raw")
