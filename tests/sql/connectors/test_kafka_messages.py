"""Messages of Kafka as columns, and columns as messages, without a broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from firesteel.connectors.kafka.producer import TaskContext
from firesteel.program.transformations import SourceTransformation
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.json import JsonTableFormat
from firesteel.sql.connectors.formats.raw import RawTableFormat
from firesteel.sql.connectors.kafka.metadata import MetadataColumn
from firesteel.sql.connectors.kafka.records import Part, TableRecords
from firesteel.sql.connectors.kafka.serializer import TableSerializer
from firesteel.sql.connectors.watermarks import _ColumnWatermarks
from firesteel.sql.expressions import InputRef
from firesteel.sql.operators.convert import columns_of
from firesteel.table import StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.table.support import tables

STRING = t.VarCharType(t.MAX_LENGTH)
BYTES = t.VarBinaryType(t.MAX_LENGTH)
VALUE = t.RowType.of(["w", "n"], [STRING, t.IntType()])
KEY = t.RowType.of(["w"], [STRING])


@dataclass
class Message:
    """What a reader asks a message of the client for."""

    body: bytes | None
    name: bytes | None = None
    at: int = 0
    found: list[tuple[str, bytes]] = field(default_factory=list)

    def key(self) -> bytes | None:
        return self.name

    def value(self) -> bytes | None:
        return self.body

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self.at

    def leader_epoch(self) -> int | None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return (1, 1_000 + self.at) if self.at else (0, -1)

    def headers(self) -> list[tuple[str, bytes]]:
        return self.found


def decoded(records: TableRecords, messages: list[Message]) -> Any:
    records.open()
    return records.decode(messages)  # type: ignore[arg-type]


def test_metadata_is_beside_the_value() -> None:
    headers = t.MapType(STRING, BYTES)
    columns = [
        ("topic", STRING), ("partition", t.BigIntType()), ("offset", t.BigIntType()),
        ("timestamp", t.LocalZonedTimestampType(3)), ("timestamp-type", STRING), ("headers", headers),
        ("leader-epoch", t.IntType()),
    ]  # fmt: skip
    places = (*(MetadataColumn(key, data_type, "UTC") for key, data_type in columns), (False, 0))
    records = TableRecords(Part(JsonTableFormat(), VALUE, (1,)), None, places, False)
    bad, good = Message(b"x", at=7), Message(b'{"n":5}', at=8, found=[("h", b"1"), ("h", b"2")])
    found = decoded(records, [bad, good])
    (row,) = found.values.rows()
    assert row[:3] == ("t", 3, 8)
    assert (row[3].timestamp(), *row[4:]) == (1.008, "CreateTime", [("h", b"2")], None, 5)
    assert [record.place["offset"] for record in found.bad] == [7]


def test_a_message_without_a_key_has_no_row() -> None:
    places = ((True, 0), (False, 0))
    records = TableRecords(
        Part(JsonTableFormat(), VALUE, (1,)), Part(JsonTableFormat(), KEY, (0,)), places, False
    )
    messages = [Message(b'{"n":1}', b'{"w":"a"}'), Message(b'{"n":2}'), Message(b'{"n":3}', b'{"w":"c"}')]
    assert list(decoded(records, messages).values.rows()) == [("a", 1), ("c", 3)]


@pytest.mark.parametrize("format_", [JsonTableFormat(), RawTableFormat()])
def test_tombstones_delete(format_: Any) -> None:
    row = t.RowType.of(["n"], [t.IntType()])
    body = format_.message_writer(row)(columns_of([(7,)], row))[0]
    places = ((False, 0), (True, 0))
    records = TableRecords(Part(format_, row, (0,)), Part(RawTableFormat(), KEY, (0,)), places, True)
    found = decoded(
        records, [Message(body, b"a"), Message(None, b"b"), Message(body, b"a"), Message(None, b"a")]
    )
    assert list(found.values.rows()) == [(7, "a"), (None, "b"), (7, "a"), (None, "a")]
    assert found.values.kinds.tolist() == [2, 3, 2, 3]
    assert decoded(records, [Message(body, b"a")]).values.kinds.tolist() == [2]


def encoded(
    serializer: TableSerializer, rows: list[tuple[Any, ...]], row: t.RowType, kinds: Any = None
) -> Any:
    context = TaskContext(0, 1, {})
    serializer.open(context)
    columns: Any = columns_of(rows, row).with_kinds(None if kinds is None else np.array(kinds, np.int8))
    return serializer.encode(columns, None, context)


@pytest.mark.row("X2")
def test_upserts_and_deletes() -> None:
    parts = Part(JsonTableFormat(), VALUE, (0, 1)), Part(RawTableFormat(), KEY, (0,))
    rows = [("a", 1), ("b", 2), ("a", 3), ("b", 2)]
    block = encoded(TableSerializer("t", *parts, upsert=True), rows, VALUE, [0, 0, 2, 3])
    assert block.keys == [b"a", b"b", b"a", b"b"]
    assert block.values == [b'{"w":"a","n":1}', b'{"w":"b","n":2}', b'{"w":"a","n":3}', None]


def test_metadata_is_written() -> None:
    stamp, headers = t.LocalZonedTimestampType(3), t.MapType(STRING, BYTES)
    row = t.RowType.of(["v", "at", "h"], [STRING, stamp, headers])
    metadata = (
        (1, MetadataColumn("timestamp", stamp, "UTC")),
        (2, MetadataColumn("headers", headers, "UTC")),
    )
    part = Part(RawTableFormat(), t.RowType.of(["v"], [STRING]), (0,))
    block = encoded(
        TableSerializer("t", part, metadata=metadata), [("x", 5, {"h": b"y"}), ("z", None, None)], row
    )
    assert block.timestamps == [5, 0]
    assert block.headers == [[("h", b"y")], None]


@pytest.mark.parametrize("on_event", [False, True])
def test_watermarks_of_a_split(on_event: bool) -> None:
    row = t.RowType.of(["at"], [t.TimestampType(3)])
    made = _ColumnWatermarks(InputRef(0, t.TimestampType(3)), row, "UTC", on_event)()
    marks = made.observe(columns_of([(5,), (3,), (9,), (9,)], row), [])
    assert marks == ([(1, 5), (3, 9)] if on_event else [])
    assert made.observe(columns_of([(2,)], row), []) == []
    again = _ColumnWatermarks(InputRef(0, t.TimestampType(3)), row, "UTC", on_event)()
    again.restore(made.snapshot())
    assert again.periodic() == [9]


def _create(t_env: StreamTableEnvironment, more: str = "") -> None:
    t_env.execute_sql(
        "CREATE TABLE f (s BIGINT, `at` AS TO_TIMESTAMP_LTZ(s, 0), "
        "WATERMARK FOR `at` AS `at` - INTERVAL '1' SECOND) "
        "WITH ('connector' = 'kafka', 'topic' = 'x', 'properties.bootstrap.servers' = '127.0.0.1:1', "
        f"'format' = 'json'{more})"
    )


def test_the_source_makes_the_watermarks() -> None:
    with tables() as t_env:
        _create(t_env, ", 'scan.watermark.emit.strategy' = 'on-event'")
        plan = t_env.explain_sql("SELECT s FROM f")
        assert "watermark=[" in plan
        assert "WatermarkAssigner" not in plan.partition("Optimized")[2]


@pytest.mark.parametrize("computed", [False, True])
def test_the_source_of_upserts_makes_the_watermarks(computed: bool) -> None:
    """As Flink, whose watermarks are below what makes changes of the upserts, too."""
    time = "`at` AS TO_TIMESTAMP_LTZ(s, 0)" if computed else "`at` TIMESTAMP(3)"
    with tables() as t_env:
        t_env.execute_sql(
            f"CREATE TABLE f (k INT, s BIGINT, {time}, WATERMARK FOR `at` AS `at` - INTERVAL '1' SECOND, "
            "PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'x', "
            "'properties.bootstrap.servers' = '127.0.0.1:1', 'key.format' = 'json', 'value.format' = 'json', "
            "'scan.watermark.idle-timeout' = '7s')"
        )
        table = t_env.sql_query("SELECT * FROM TABLE(TUMBLE(TABLE f, DESCRIPTOR(`at`), INTERVAL '1' DAY))")
        plan = table.explain().partition("Optimized Execution Plan")[2]
        assert "WatermarkAssigner" not in plan
        normalized, _, scan = plan.partition("ChangelogNormalize(key=[k])")
        assert "WindowTableFunction" in normalized
        assert "watermark=[" in scan
        physical = t_env._session.physical(table._node)
        found = t_env._session.translator(physical).translate(physical)
        while not isinstance(found, SourceTransformation):
            (found,) = found.inputs
        assert found.watermark_strategy.idle_timeout_ms == 7_000


def test_a_deletion_has_no_time_and_moves_no_watermark() -> None:
    row = t.RowType.of(["at"], [t.TimestampType(3)])
    made = _ColumnWatermarks(InputRef(0, t.TimestampType(3)), row, "UTC", True)()
    assert made.observe(columns_of([(None,), (5,), (None,)], row), []) == [(2, 5)]
    assert made.periodic() == [5]


def test_other_sources_refuse_the_options_of_watermarks() -> None:
    with tables() as t_env:
        t_env.execute_sql(
            "CREATE TABLE f (a INT) WITH ('connector' = 'datagen', 'scan.watermark.idle-timeout' = '1s')"
        )
        with pytest.raises(TableException, match="not for each of its splits"):
            t_env.execute_sql("SELECT * FROM f")
