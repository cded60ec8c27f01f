"""Tables of collections, of a double of the server."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId

from firesteel.common.errors import FiresteelError
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.table import StreamTableEnvironment
from tests.runtime.support import environment
from tests.table.support import kept, rows

Collection = pymongo.collection.Collection


@pytest.fixture
def t() -> StreamTableEnvironment:
    return StreamTableEnvironment.create(environment(1))


def table_of(uri: str, collection: Any, /, **options: str) -> str:
    """The WITH clause of a table; of options, ``__`` is a dot and ``_`` a hyphen."""
    given = {"connector": "mongodb", "uri": uri, "database": "tests", "collection": collection}
    given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in given.items()) + ")"


@pytest.mark.row("S-SQL-07")
def test_values_of_all_types(t: StreamTableEnvironment, uri: str, collection: Collection) -> None:
    t.execute_sql(
        "CREATE TABLE f (_id STRING, b BOOLEAN, y BYTES, i INT, l BIGINT, d DOUBLE, c DECIMAL(10, 2), "
        "z TIMESTAMP_LTZ(3), r ROW<x INT, s STRING>, a ARRAY<STRING>, m MAP<STRING, INT>, "
        f"PRIMARY KEY (_id) NOT ENFORCED) {table_of(uri, collection.name)}"
    )
    t.execute_sql(
        "INSERT INTO f SELECT 'k', TRUE, ENCODE('y', 'UTF-8'), 1, CAST(2 AS BIGINT), 0.5e0, 1.50, "
        "TO_TIMESTAMP_LTZ(1234, 3), ROW(3, 's'), ARRAY['p', 'q'], MAP['m', 4]"
    ).wait()
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, 234_000)
    assert list(collection.find()) == [
        {
            "_id": "k",
            "b": True,
            "y": b"y",
            "i": 1,
            "l": Int64(2),
            "d": 0.5,
            "c": Decimal128("1.50"),
            "z": moment,
            "r": {"x": 3, "s": "s"},
            "a": ["p", "q"],
            "m": {"m": 4},
        }
    ]
    row = ("k", True, b"y", 1, 2, 0.5, Decimal("1.50"), Instant(1, 234_000_000))
    (found,) = rows(t.execute_sql("SELECT * FROM f"))
    assert found[:8] == row
    assert (tuple(found[8]), found[9], found[10]) == ((3, "s"), ["p", "q"], {"m": 4})
    assert isinstance(found[8], Row)


def test_what_has_another_type(t: StreamTableEnvironment, uri: str, collection: Collection) -> None:
    key = ObjectId("63932a00da01604af329e33c")
    collection.insert_many([{"_id": key, "i": 2.0, "s": {"x": 1}}, {"_id": 7, "i": True, "s": 12}])
    t.execute_sql(f"CREATE TABLE f (_id STRING, i INT, s STRING) {table_of(uri, collection.name)}")
    assert kept(t.execute_sql("SELECT * FROM f")) == [
        (str(key), 2, '{"x": 1}'),
        ('{"_value": 7}', 1, '{"_value": 12}'),
    ]
    t.execute_sql(f"CREATE TABLE g (s INT) {table_of(uri, collection.name)}")
    with pytest.raises(FiresteelError, match="A value of MongoDB is not INT"):
        rows(t.execute_sql("SELECT * FROM g"))


def test_a_collection_is_read_in_pieces(t: StreamTableEnvironment, uri: str, collection: Collection) -> None:
    collection.insert_many([{"_id": n, "more": "x" * 50} for n in range(5000)])
    t.execute_sql(f"CREATE TABLE f (_id INT) {table_of(uri, collection.name, scan__fetch_size='100')}")
    assert kept(t.execute_sql("SELECT COUNT(*), COUNT(DISTINCT _id), MAX(_id) FROM f")) == [
        (5000, 5000, 4999)
    ]


@pytest.mark.row("S-SQL-38")
def test_documents_are_changed_by_key(t: StreamTableEnvironment, uri: str, collection: Collection) -> None:
    collection.insert_many([{"_id": "b", "n": 7}, {"_id": "z", "n": 1, "only": "there"}])
    t.execute_sql(
        "CREATE TABLE f (w STRING, n INT, PRIMARY KEY (w) NOT ENFORCED) "
        + table_of(uri, collection.name, sink__buffer_flush__max_rows="1")
    )
    t.execute_sql(
        "INSERT INTO f SELECT * FROM (SELECT w, SUM(n) AS n FROM (VALUES ('a', 1), ('b', 1), ('a', 2), "
        "('b', -1), ('z', 9)) AS v(w, n) GROUP BY w) WHERE n > 0"
    ).wait()
    assert list(collection.find(sort=[("_id", 1)])) == [
        {"_id": "a", "w": "a", "n": 3},
        {"_id": "z", "w": "z", "n": 9, "only": "there"},
    ]


def test_keys_of_several_columns_and_of_none(
    t: StreamTableEnvironment, uri: str, collection: Collection
) -> None:
    t.execute_sql(
        "CREATE TABLE f (a INT, b STRING, n INT, PRIMARY KEY (a, b) NOT ENFORCED) "
        + table_of(uri, collection.name)
    )
    t.execute_sql("INSERT INTO f VALUES (1, 'x', 2)").wait()
    assert list(collection.find()) == [{"_id": {"a": 1, "b": "x"}, "a": 1, "b": "x", "n": 2}]
    collection.delete_many({})
    t.execute_sql(f"CREATE TABLE g (n INT) {table_of(uri, collection.name)}")
    t.execute_sql("INSERT INTO g VALUES (2), (2)").wait()
    assert [found["n"] for found in collection.find()] == [2, 2]


@pytest.mark.row("S-SQL-21")
@pytest.mark.parametrize("cache", ["NONE", "FULL"])
def test_rows_are_looked_up(t: StreamTableEnvironment, uri: str, collection: Collection, cache: str) -> None:
    key = ObjectId("63932a00da01604af329e33c")
    collection.insert_many(
        [{"_id": "plain", "name": "one"}, {"_id": key, "name": "two"}, {"_id": "other", "name": "three"}]
    )
    options = {"lookup__cache": cache}
    if cache == "FULL":
        options["lookup__full_cache__periodic_reload__interval"] = "1min"
    t.execute_sql(f"CREATE TABLE f (_id STRING, name STRING) {table_of(uri, collection.name, **options)}")
    t.execute_sql(
        "CREATE TEMPORARY VIEW asked AS SELECT k, PROCTIME() AS p FROM "
        f"(VALUES ('plain'), ('{key}'), ('none')) AS v(k)"
    )
    join = "LEFT JOIN f FOR SYSTEM_TIME AS OF p AS f ON f._id = k"
    found = kept(t.execute_sql(f"SELECT k, name FROM asked {join}"))
    assert found == [(str(key), "two"), ("none", None), ("plain", "one")]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("n TINYINT", {}, "no BSON type for TINYINT"),
        ("n TIMESTAMP(3)", {}, "no BSON type for TIMESTAMP(3)"),
        ("n INT", {"uri": "http://localhost:1"}, "Not the URI of a MongoDB server"),
        ("n INT", {"scan__partition__strategy": "sample"}, "default, single"),
        ("n INT", {"scan__partition__size": "1mb"}, "'scan.partition.size' is not supported"),
        ("n INT", {"scan__fetch_size": "0"}, "at least 1"),
        ("n INT", {"filter__handling__policy": "never"}, "conditions are evaluated"),
        ("n INT", {"scan__fetch": "1"}, "did you mean scan.fetch-size"),
    ],
)
def test_wrong_options(
    t: StreamTableEnvironment, columns: str, options: dict[str, str], message: str
) -> None:
    t.execute_sql(f"CREATE TABLE f ({columns}) {table_of('mongodb://127.0.0.1:1', 'x', **options)}")
    with pytest.raises(FiresteelError) as caught:
        t.execute_sql("SELECT * FROM f")
    assert message in str(caught.value)


def test_an_id_that_is_not_the_key(t: StreamTableEnvironment) -> None:
    t.execute_sql(
        "CREATE TABLE f (_id STRING, n INT, PRIMARY KEY (n) NOT ENFORCED) "
        + table_of("mongodb://127.0.0.1:1", "x")
    )
    with pytest.raises(FiresteelError, match="Ambiguous keys"):
        t.execute_sql("INSERT INTO f VALUES ('a', 1)")
