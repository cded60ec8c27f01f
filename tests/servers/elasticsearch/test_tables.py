"""Indices that tables are written to, of real servers."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from tests.runtime.support import environment
from tests.servers.elasticsearch.server import SearchServer


@pytest.fixture
def t() -> StreamTableEnvironment:
    return StreamTableEnvironment.create(environment(1))


def index_of(address: str, index: str, connector: str = "elasticsearch-7", /, **options: str) -> str:
    """The WITH clause of a table; of options, ``__`` is a dot and ``_`` a hyphen."""
    given = {"connector": connector, "hosts": f"http://{address}", "index": index}
    given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in given.items()) + ")"


@pytest.mark.row("S-SQL-38")
@pytest.mark.parametrize("kind", ["server", "opensearch"])
def test_documents_are_changed_by_key(
    t: StreamTableEnvironment, kind: str, index: str, request: pytest.FixtureRequest
) -> None:
    server: SearchServer = request.getfixturevalue(kind)
    options = index_of(server.address, index, "elasticsearch-8", sink__bulk_flush__max_actions="2")
    t.execute_sql(f"CREATE TABLE f (w STRING, d DATE, n INT, PRIMARY KEY (w, d) NOT ENFORCED) {options}")
    t.execute_sql(
        "INSERT INTO f SELECT * FROM (SELECT w, d, SUM(n) AS n FROM (VALUES ('a', DATE '2020-01-02', 1), "
        "('b', DATE '2020-01-02', 1), ('a', DATE '2020-01-02', 2), ('b', DATE '2020-01-02', -1), "
        "('a', DATE '2020-01-03', 9)) AS v(w, d, n) GROUP BY w, d) WHERE n > 0"
    ).wait()
    assert server.documents(index) == {
        "a_2020-01-02": {"w": "a", "d": "2020-01-02", "n": 3},
        "a_2020-01-03": {"w": "a", "d": "2020-01-03", "n": 9},
    }


def test_the_index_of_a_row(t: StreamTableEnvironment, server: SearchServer, index: str) -> None:
    t.execute_sql(
        "CREATE TABLE f (n INT, `at` TIMESTAMP(3), tags ARRAY<STRING>, r ROW<x DOUBLE>) "
        + index_of(server.address, f"{index}-{{at|yyyy.MM.dd}}")
    )
    t.execute_sql(
        "INSERT INTO f VALUES (1, TIMESTAMP '2024-05-06 07:08:09.5', ARRAY['x', 'y'], ROW(0.5)), "
        "(2, TIMESTAMP '2024-05-07 00:00:00', CAST(NULL AS ARRAY<STRING>), ROW(1e0))"
    ).wait()
    (first,) = server.documents(f"{index}-2024.05.06").values()
    assert first == {"n": 1, "at": "2024-05-06 07:08:09.5", "tags": ["x", "y"], "r": {"x": 0.5}}
    assert [found["n"] for found in server.documents(f"{index}-2024.05.07").values()] == [2]


def test_a_document_that_is_not_taken(t: StreamTableEnvironment, server: SearchServer, index: str) -> None:
    server.ask("PUT", f"/{index}", {"mappings": {"properties": {"n": {"type": "integer"}}}})
    t.execute_sql(f"CREATE TABLE f (n STRING) {index_of(server.address, index)}")
    with pytest.raises(FiresteelError, match="did not take the document"):
        t.execute_sql("INSERT INTO f VALUES ('none')").wait()


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("n INT", {"index": "Upper"}, "Not the name of an index"),
        ("n INT", {"index": "x-{m}"}, "columns are n"),
        ("n INT", {"index": "x-{n|yyyy}"}, "DATE, TIME and TIMESTAMP"),
        ("n INT", {"index": "x-{n}-{n}"}, "more than one dynamic part"),
        ("n INT", {"index": "x-{now()}"}, "needs a pattern"),
        ("n INT, PRIMARY KEY (n) NOT ENFORCED", {"index": "x-{now()|yyyy}"}, "depend on when it is written"),
        ("n ARRAY<INT>, PRIMARY KEY (n) NOT ENFORCED", {}, "columns of illegal types: n"),
        ("n INT", {"username": "me"}, "go together"),
        ("n INT", {"format": "debezium-json"}, "not documents"),
        ("n INT", {"document_type": "x"}, "'document-type' is not supported"),
        ("n INT", {"connector": "elasticsearch-6"}, "Missing required options are: document-type"),
        ("n INT", {"failure_handler": "ignore"}, "failure-handler"),
        ("n INT", {"sink__bulk_flush__backoff__delay": "1s"}, "'DISABLED'"),
        ("n INT", {"hosts": "ftp://x"}, "Not the address of a node"),
        ("n INT", {"sink__bulk_flush__max_action": "1"}, "did you mean sink.bulk-flush.max-actions"),
    ],
)
def test_wrong_options(
    t: StreamTableEnvironment, columns: str, options: dict[str, Any], message: str
) -> None:
    t.execute_sql(f"CREATE TABLE f ({columns}) {index_of('127.0.0.1:1', 'x', **options)}")
    value = "ARRAY[1]" if "ARRAY" in columns else "1"
    with pytest.raises(FiresteelError) as caught:
        t.execute_sql(f"INSERT INTO f SELECT {value}")
    assert message in str(caught.value)


def test_it_cannot_be_read(t: StreamTableEnvironment) -> None:
    t.execute_sql(f"CREATE TABLE f (n INT) {index_of('127.0.0.1:1', 'x')}")
    with pytest.raises(FiresteelError, match="can only be used as a sink"):
        t.execute_sql("SELECT * FROM f")
