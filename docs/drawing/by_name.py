"""The table of docs/systems.md that names all connectors and formats, from their registries."""

from __future__ import annotations

from typing import Final

from firesteel.connectors.registry import CONNECTORS, FORMATS
from firesteel.sql.connectors.built_in import register
from firesteel.sql.connectors.factory import TABLE_CONNECTORS
from firesteel.sql.connectors.formats.registry import TABLE_FORMATS, format_options

#: Where each connector and format is tested, below ``tests/``.
TESTS: Final = {
    "avro": "formats/test_avro_formats.py",
    "avro-confluent": "servers/registry/test_avro_confluent.py",
    "cassandra": "servers/cassandra",
    "changelog-json": "formats/test_changelog_formats.py",
    "csv": "formats/test_csv_formats.py",
    "datagen": "connectors/generated",
    "elasticsearch": "servers/elasticsearch",
    "filesystem": "connectors/files",
    "firehose": "servers/aws",
    "jdbc": "servers/jdbc",
    "json": "formats/test_json_formats.py",
    "kafka": "servers/kafka",
    "kinesis": "servers/aws",
    "mongodb": "servers/mongodb",
    "orc": "connectors/files",
    "parquet": "connectors/files",
    "protobuf": "formats/test_protobuf_format.py",
    "pulsar": "servers/pulsar",
    "rabbitmq": "servers/rabbitmq",
    "raw": "formats/test_raw_format.py",
    "redis": "servers/redis",
    "sqs": "servers/aws",
}


def table() -> str:
    """All that are built in, by name."""
    register()
    format_options("format", {"format": "json"})  # has the formats of tables registered
    lines = ["|  | name | in programs | in tables | extra | tests |", "| --- | --- | --- | --- | --- | --- |"]
    for what, registry, of_tables in (
        ("connector", CONNECTORS, TABLE_CONNECTORS),
        ("format", FORMATS, TABLE_FORMATS),
    ):
        in_tables = {record.name for record in of_tables.all() if of_tables.is_own(record.name)}
        streams = {record.name: record for record in registry.all() if registry.is_own(record.name)}
        for name in sorted(streams):
            record = streams[name]
            tables = sorted(n for n in in_tables if n in (name, f"upsert-{name}") or _is_version(n, name))
            shown = ", ".join(f"`{n}`" for n in tables)
            extra = f"`{record.extra}`" if record.extra else ""
            lines.append(
                f"| {what} | `{name}` | `{record.module}` | {shown} | {extra} | `tests/{TESTS[name]}` |"
            )
    return "\n".join(lines) + "\n"


def _is_version(name: str, of: str) -> bool:
    """``elasticsearch-7`` of ``elasticsearch``."""
    return name.startswith(f"{of}-") and name.removeprefix(f"{of}-").isdigit()
