"""Formats of messages: columns to messages and back, at once and one by one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.avro import AvroTableFormat, avro_schema_text
from firesteel.sql.connectors.formats.changes import ChangesFormat
from firesteel.sql.connectors.formats.csv import CsvTableFormat
from firesteel.sql.connectors.formats.json import JsonTableFormat
from firesteel.sql.connectors.formats.messages import ReadMessages
from firesteel.sql.connectors.formats.raw import RawTableFormat
from firesteel.sql.operators.convert import columns_of
from firesteel.util.exceptions import TableException

STRING = t.VarCharType(t.MAX_LENGTH)
ROW = t.RowType.of(["a", "b", "c", "d"], [t.IntType(), STRING, t.TimestampType(3), t.DecimalType(6, 2)])
_TIME = dt.datetime(2020, 1, 1, 12, 0, 0, 5_000)
VALUES = [(1, "x", _TIME, Decimal("1.50")), (2, None, None, None), (3, 'z,"q', _TIME, Decimal("-2.00"))]


def read(format_: Any, messages: Any, columns: tuple[int, ...], row: t.RowType = ROW) -> ReadMessages:
    reader = format_.message_reader(row, columns)
    reader.open()
    found: ReadMessages = reader.read(messages)
    return found


def rows_of(found: ReadMessages) -> list[tuple[Any, ...]]:
    return list(found.columns.rows())


def origins_of(found: ReadMessages) -> list[int]:
    return list(range(len(found.columns))) if found.origins is None else found.origins.tolist()


@pytest.mark.parametrize("format_", [JsonTableFormat(), CsvTableFormat(null="NULL"), AvroTableFormat()])
def test_columns_come_back(format_: Any) -> None:
    messages = format_.message_writer(ROW)(columns_of(VALUES, ROW))
    found = read(format_, messages, (0, 1, 2, 3))
    assert rows_of(found) == VALUES
    assert rows_of(read(format_, messages, (3, 0))) == [(row[3], row[0]) for row in VALUES]
    assert len(read(format_, messages, ()).columns) == 3


@pytest.mark.parametrize("format_", [JsonTableFormat(), CsvTableFormat(null="NULL"), AvroTableFormat()])
def test_bad_messages_and_tombstones_have_no_row(format_: Any) -> None:
    first, second, third = format_.message_writer(ROW)(columns_of(VALUES, ROW))
    found = read(format_, [first, None, b"\x07", second, third], (0,))
    assert (rows_of(found), origins_of(found)) == ([(1,), (2,), (3,)], [0, 3, 4])
    assert [at for at, _ in found.bad] == [2]


def test_json_objects_are_told_apart_by_their_messages() -> None:
    """A block of them could be read as other rows than they are."""
    row = t.RowType.of(["a"], [t.IntType()])
    found = read(JsonTableFormat(), [b'{"a":1}\n{"a":2}', b"  ", b'{"a":3}'], (0,), row)
    assert rows_of(found) == [(3,)]
    assert [at for at, _ in found.bad] == [0, 1]
    pretty = read(JsonTableFormat(), [b'{\n"a": 1\n}', b'{"a":2}'], (0,), row)
    assert rows_of(pretty) == [(1,), (2,)]


def test_csv_records_are_told_apart_by_their_messages() -> None:
    row = t.RowType.of(["a", "b"], [t.IntType(), STRING])
    found = read(CsvTableFormat(), [b'1,"x', b'y"', b"2,z"], (0, 1), row)
    assert rows_of(found) == [(2, "z")]
    lines = read(CsvTableFormat(), [b'1,"x\ny"', b"2,z\n"], (0, 1), row)
    assert rows_of(lines) == [(1, "x\ny"), (2, "z")]


@pytest.mark.parametrize(
    ("data_type", "value", "message"),
    [
        (STRING, "ü", "ü".encode()),
        (t.VarBinaryType(t.MAX_LENGTH), b"\xff", b"\xff"),
        (t.BigIntType(), -2, b"\xff\xff\xff\xff\xff\xff\xff\xfe"),
        (t.BooleanType(), True, b"\x01"),
        (t.DoubleType(), 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
    ],
)
def test_raw(data_type: t.DataType, value: Any, message: bytes) -> None:
    row = t.RowType.of(["v"], [data_type])
    messages = RawTableFormat().message_writer(row)(columns_of([(value,), (None,)], row))
    assert messages == [message, None]
    assert rows_of(read(RawTableFormat(), messages, (0,), row)) == [(value,), (None,)]
    assert rows_of(read(RawTableFormat(), [message] * 2, (0,), row)) == [(value,)] * 2


def test_raw_numbers_in_the_other_order_and_of_the_wrong_size() -> None:
    row = t.RowType.of(["v"], [t.IntType()])
    found = read(RawTableFormat("UTF-8", False), [b"\x01\0\0\0", b"\x01", b"\x02\0\0\0"], (0,), row)
    assert (rows_of(found), origins_of(found)) == ([(1,), (2,)], [0, 2])
    latin = read(RawTableFormat("ISO-8859-1"), [b"\xfc"], (0,), t.RowType.of(["v"], [STRING]))
    assert rows_of(latin) == [("ü",)]


_CHANGES = {
    "debezium": [
        b'{"before":null,"after":{"a":1,"b":"x"},"op":"r"}',
        b'{"before":{"a":1,"b":"x"},"after":{"a":1,"b":"y"},"op":"u"}',
        b'{"before":{"a":1,"b":"y"},"after":null,"op":"d"}',
    ],
    "ogg": [
        b'{"before":null,"after":{"a":1,"b":"x"},"op_type":"I"}',
        b'{"before":{"a":1,"b":"x"},"after":{"a":1,"b":"y"},"op_type":"U"}',
        b'{"before":{"a":1,"b":"y"},"after":null,"op_type":"D"}',
    ],
    "canal": [
        b'{"data":[{"a":1,"b":"x"}],"type":"INSERT"}',
        b'{"data":[{"a":1,"b":"y"}],"old":[{"b":"x"}],"type":"UPDATE"}',
        b'{"data":[{"a":1,"b":"y"}],"type":"DELETE"}',
    ],
    "maxwell": [
        b'{"data":{"a":1,"b":"x"},"type":"insert"}',
        b'{"data":{"a":1,"b":"y"},"old":{"b":"x"},"type":"update"}',
        b'{"data":{"a":1,"b":"y"},"type":"delete"}',
    ],
}


@pytest.mark.parametrize("name", sorted(_CHANGES))
@pytest.mark.parametrize("bad", [False, True])
def test_changes(name: str, bad: bool) -> None:
    """With a bad message between them they are read one by one."""
    row = t.RowType.of(["a", "b"], [t.IntType(), STRING])
    messages: list[bytes | None] = [*_CHANGES[name]]
    if bad:
        messages[1:1] = [b'{"op":"x","op_type":"x","type":"x"}', None]
    found = read(ChangesFormat(name), messages, (1, 0), row)
    assert rows_of(found) == [("x", 1), ("x", 1), ("y", 1), ("y", 1)]
    assert found.columns.kinds_or_inserts().tolist() == [0, 1, 2, 3]
    shift = 2 if bad else 0
    assert origins_of(found) == [0, 1 + shift, 1 + shift, 2 + shift]
    assert [at for at, _ in found.bad] == ([1] if bad else [])


def test_a_row_of_a_change_that_is_missing() -> None:
    row = t.RowType.of(["a"], [t.IntType()])
    found = read(ChangesFormat("debezium"), [b'{"before":null,"after":{"a":1},"op":"u"}'], (0,), row)
    assert (len(found.columns), [at for at, _ in found.bad]) == (0, [0])


@pytest.mark.parametrize("name", sorted(_CHANGES))
def test_an_update_is_written_as_a_deletion_and_an_insertion(name: str) -> None:
    row = t.RowType.of(["a"], [t.IntType()])
    columns: Columns = columns_of([(1,), (1,), (2,), (2,)], row).with_kinds(np.array([0, 1, 2, 3], np.int8))
    messages = ChangesFormat(name).message_writer(row)(columns)
    found = read(ChangesFormat(name), messages, (0,), row)
    assert rows_of(found) == [(1,), (1,), (2,), (2,)]
    assert found.columns.kinds_or_inserts().tolist() == [0, 3, 0, 3]


def test_a_schema_beside_a_change() -> None:
    row = t.RowType.of(["a"], [t.IntType()])
    message = b'{"schema":{},"payload":{"before":null,"after":{"a":1},"op":"c"}}'
    assert rows_of(read(ChangesFormat("debezium", schema_include=True), [message], (0,), row)) == [(1,)]


@pytest.mark.parametrize("data_type", [t.TimestampType(6), t.LocalZonedTimestampType(3)])
def test_types_that_avro_has_not(data_type: t.DataType) -> None:
    with pytest.raises(TableException, match="Avro does not support"):
        avro_schema_text(t.RowType.of(["x"], [data_type]))


def test_a_message_that_is_an_array_has_a_row_of_each_element() -> None:
    messages = [b'{"a":1}', b'[{"a":2},null,{"a":3}]', b"[]", None, b'[{"a":4},7]', b'{"a":5}']
    found = read(JsonTableFormat(), messages, (0,))
    assert (rows_of(found), origins_of(found)) == ([(1,), (2,), (3,), (5,)], [0, 1, 1, 5])
    assert [at for at, _ in found.bad] == [4]
    found = read(JsonTableFormat(ignore_errors=True), messages, (0,))
    assert (rows_of(found), origins_of(found)) == ([(1,), (2,), (3,), (4,), (5,)], [0, 1, 1, 4, 5])
