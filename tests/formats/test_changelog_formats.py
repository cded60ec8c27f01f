"""Debezium, Canal and Maxwell, against what Flink's own schemas give.

``changelogs.tsv`` (format, message, rows) and ``changelogs_written.tsv`` (format, timestamp format, row kind,
message) are the results of flink-json 2.3.0.
"""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row
from firesteel.common.errors import ConfigurationError, FiresteelError, ProgramError
from firesteel.common.typeinfo import Types
from firesteel.common.types import RowKind
from firesteel.connectors.bad_records import message_decoder
from firesteel.datastream.formats import changelog_json as formats

from ..runtime.support import collect, environment, local_platform

HERE = Path(__file__).parent
TYPE = Types.ROW_NAMED(["id", "name", "at"], [Types.INT(), Types.STRING(), Types.SQL_TIMESTAMP()])
READ = {
    "debezium": lambda: formats.DebeziumJsonDeserializationSchema.builder(),
    "debezium schema": lambda: formats.DebeziumJsonDeserializationSchema.builder().schema_include(),
    "canal": lambda: (
        formats.CanalJsonDeserializationSchema.builder().set_database("my.*").set_table("orders")
    ),
    "maxwell": lambda: formats.MaxwellJsonDeserializationSchema.builder(),
}
WRITE = {
    "debezium": formats.DebeziumJsonSerializationSchema,
    "canal": formats.CanalJsonSerializationSchema,
    "maxwell": formats.MaxwellJsonSerializationSchema,
}


def cases(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def shown(row: Row) -> str:
    values = (
        "null" if v is None else v.isoformat() if isinstance(v, datetime.datetime) else str(v) for v in row
    )
    return f"{row.get_row_kind()}({','.join(values)})"


@pytest.mark.parametrize(("format_", "message", "rows"), cases("changelogs.tsv"))
@pytest.mark.row("S-CONN-21")
def test_messages_as_flink_reads_them(format_: str, message: str, rows: str) -> None:
    builder: Any = READ[format_.removesuffix(" ignore")]().type_info(TYPE)
    schema = pickle.loads(
        pickle.dumps((builder.ignore_parse_errors() if "ignore" in format_ else builder).build())
    )
    assert schema.get_produced_type() == TYPE
    if rows == "error":
        with pytest.raises(FiresteelError, match="not a change of"):
            schema.deserialize_many(message.encode())
    else:
        found = ", ".join(map(shown, schema.deserialize_many(message.encode())))
        assert found.replace(".123000", ".123") == rows


@pytest.mark.parametrize(("format_", "times", "kind", "message"), cases("changelogs_written.tsv"))
def test_rows_as_flink_writes_them(format_: str, times: str, kind: str, message: str) -> None:
    row = Row(1, "aé", datetime.datetime(2024, 5, 6, 7, 8, 9, 120_000))
    row.set_row_kind(RowKind[kind])
    schema = pickle.loads(pickle.dumps(WRITE[format_](TYPE, times)))
    assert schema.serialize(row).decode() == message


def test_each_row_of_a_canal_update_has_its_own_old_fields() -> None:
    """Flink looks for the name of a field in all rows of ``old``: there the first -U would have no id."""
    schema = READ["canal"]().type_info(TYPE).build()
    message = b"""{"database": "mydb", "table": "orders", "type": "UPDATE",
        "data": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}], "old": [{"name": "z"}, {"id": "9"}]}"""
    rows = ["-U(1,z,null)", "+U(1,a,null)", "-U(9,b,null)", "+U(2,b,null)"]
    assert list(map(shown, schema.deserialize_many(message))) == rows


def test_what_is_left_out_is_counted_and_what_is_no_change_is_bad() -> None:
    good = b'{"data": {"id": 1}, "old": {"id": 0}, "type": "update"}'
    messages = [good, b"", None, b"{", b'{"data": {"id": 1}, "type": "odd"}', good]
    strict = message_decoder(READ["maxwell"]().type_info(TYPE).build())(messages)
    assert strict.origins == [0, 0, 5, 5]
    assert [index for index, _ in strict.bad] == [3, 4]
    assert "unknown \"type\": 'odd'" in str(strict.bad[1][1])
    lenient = message_decoder(READ["maxwell"]().type_info(TYPE).ignore_parse_errors().build())(messages)
    assert (lenient.origins, lenient.bad, lenient.ignored) == ([0, 0, 5, 5], [], 2)


def test_row_kinds_stay_in_a_job() -> None:
    schema = READ["debezium"]().type_info(TYPE).build()
    message = b'{"before": {"id": 1}, "after": {"id": 2}, "op": "u"}'
    with local_platform():
        stream = environment(parallelism=2).from_collection([message], Types.PRIMITIVE_ARRAY(Types.BYTE()))
        rows = stream.flat_map(schema.deserialize_many, TYPE).rebalance().key_by(lambda row: row.id % 1)
        assert sorted(map(shown, collect(rows.map(lambda row: row, TYPE)))) == [
            "+U(2,null,null)",
            "-U(1,null,null)",
        ]


def test_schemas_are_checked_when_they_are_made() -> None:
    with pytest.raises(ProgramError, match="ROW_NAMED"):
        formats.MaxwellJsonDeserializationSchema.builder().build()
    with pytest.raises(ProgramError, match="ROW_NAMED"):
        formats.CanalJsonSerializationSchema(Types.INT())
    with pytest.raises(ConfigurationError, match="regular expression"):
        formats.CanalJsonDeserializationSchema.builder().set_table("(")
    with pytest.raises(ConfigurationError, match="timestamp format"):
        formats.DebeziumJsonSerializationSchema(TYPE, "iso")
    with pytest.raises(ProgramError, match="deserialize_many"):
        READ["maxwell"]().type_info(TYPE).build().deserialize(b"{}")
