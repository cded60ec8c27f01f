"""Rows as actions for Elasticsearch."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from firesteel.common.time import Instant
from firesteel.sql import types as t
from firesteel.sql.connectors.elasticsearch.documents import TableDocuments
from firesteel.sql.connectors.elasticsearch.index_names import IndexNames, index_names
from firesteel.sql.connectors.formats.json import JsonTableFormat
from firesteel.sql.connectors.options import TableOptions, text
from firesteel.sql.operators.convert import columns_of

_NOON = dt.datetime(2024, 5, 6, 12)


@pytest.mark.parametrize(
    ("data_type", "value", "id_"),
    [
        (t.IntType(), 7, "7"),
        (t.DoubleType(), 1e10, "1.0E10"),
        (t.BooleanType(), True, "true"),
        (t.DateType(), dt.date(2024, 5, 6), "2024-05-06"),
        (t.TimeType(precision=3), dt.time(7, 8), "07:08"),
        (t.TimeType(precision=3), dt.time(7, 8, 9, 500_000), "07:08:09.500"),
        (t.TimestampType(precision=6), _NOON, "2024-05-06T12:00"),
        (t.TimestampType(precision=6), _NOON.replace(microsecond=1_200), "2024-05-06T12:00:00.001200"),
    ],
)
def test_ids_are_texts_of_java(data_type: t.DataType, value: Any, id_: str) -> None:
    row = t.RowType.of(["k", "n"], [data_type, t.IntType()])
    documents = TableDocuments(IndexNames(("x", "")), JsonTableFormat(), row, (0, 1), "$")
    (action,) = documents.encoder()(columns_of([(value, 1)], row))
    assert json.loads(action.splitlines()[0])["update"]["_id"] == f"{id_}$1"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("orders", "orders"),
        ("o-{n}-x", "o-7-x"),
        ("o-{at|yyyy_MM_dd}", "o-2024_05_06"),
        ("o-{at|}", "o-2024_05_06_12_00_00"),
        ("o-{day|}", "o-2024_05_06"),
        ("o-{day|yyyy}x", "o-2024x"),
        ("o-{z|yyyy-MM-dd HH XXX}", "o-1970-01-01 01 +01:00"),
    ],
)
def test_indices(given: str, found: str) -> None:
    row = t.RowType.of(
        ["n", "at", "day", "z"],
        [t.IntType(), t.TimestampType(precision=3), t.DateType(), t.LocalZonedTimestampType(precision=3)],
    )
    options = TableOptions.checked("elasticsearch-7", "t", {"index": given}, [text("index")])
    names = index_names(options, row, "Europe/Berlin")
    assert names.of(columns_of([(7, _NOON, _NOON.date(), Instant(0, 0))], row)) == [found]
    assert not names.of_time


def test_the_index_of_now() -> None:
    row = t.RowType.of(["n"], [t.IntType()])
    options = TableOptions.checked("elasticsearch-7", "t", {"index": "o-{now()|yyyy}"}, [text("index")])
    names = index_names(options, row, "UTC")
    assert names.of_time
    (found,) = names.of(columns_of([(1,)], row))
    assert found.startswith("o-2")
    assert len(found) == 6
