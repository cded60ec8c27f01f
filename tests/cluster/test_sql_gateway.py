"""The SQL gateway of a session cluster: sessions in processes of their own, results by token."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.cluster.client import RequestRefusedError
from firesteel.cluster.sql.sessions import SqlSessions
from firesteel.rest.errors import RestError
from firesteel.sql import types as t
from firesteel.sql.type_json import type_from_json, type_to_json
from firesteel.sql_client.client import Client
from firesteel.sql_client.remote import GatewayExecutor
from tests.cluster.support import SessionCluster, until
from tests.sql_client.support import ENDLESS, NUMBERS, SETTINGS
from tests.waiting import patience


class Session:
    def __init__(self, cluster: SessionCluster, **properties: str) -> None:
        self._client = cluster.client
        opened = self._client.post("/v3/sessions", {"properties": {"parallelism.default": "1", **properties}})
        self.handle = opened["sessionHandle"]
        self.path = f"/v3/sessions/{self.handle}"

    def start(self, sql: str) -> str:
        return str(self._client.post(f"{self.path}/statements", {"statement": sql})["operationHandle"])

    def pages(self, operation: str, query: str = "?rowFormat=JSON", version: str = "v3") -> Iterator[Any]:
        path = f"/{version}/sessions/{self.handle}/operations/{operation}"
        target = f"{path}/result/0{query}"
        while True:
            page = self._client.get(target)
            yield page
            if page["resultType"] == "EOS":
                return
            target = page["nextResultUri"]
            assert target.startswith(f"{path}/result/")

    def run(self, sql: str, query: str = "?rowFormat=JSON") -> tuple[Any, list[Any]]:
        """The last page with content, and all rows."""
        last, rows = None, []
        for page in self.pages(self.start(sql), query):
            if page["resultType"] != "NOT_READY":
                rows += page["results"]["data"]
                last = page if page["results"]["data"] or last is None else last
        return last, rows


@pytest.fixture(scope="module")
def session(cluster: SessionCluster) -> Iterator[Session]:
    found = Session(cluster)
    found._client.post(f"{found.path}/configure-session", {"statement": NUMBERS})
    found._client.post(f"{found.path}/configure-session", {"statement": ENDLESS})
    yield found
    assert found._client.send("DELETE", found.path) == {"status": "CLOSED"}
    with pytest.raises(RequestRefusedError, match="does not exist"):
        found._client.get(found.path)


def test_what_the_gateway_is(cluster: SessionCluster) -> None:
    assert cluster.client.get("/v1/info")["productName"] == "Apache Flink"
    assert cluster.client.get("/api_versions") == {"versions": ["V1", "V2", "V3", "V4"]}


def test_a_query_runs_as_a_job_of_the_cluster(cluster: SessionCluster, session: Session) -> None:
    page, rows = session.run("SELECT id, CAST(id AS DECIMAL(5, 1)) AS d, CAST(NULL AS STRING) FROM numbers")
    assert sorted(rows, key=lambda row: row["fields"][0]) == [
        {"kind": "INSERT", "fields": [i, i * 1.0, None]} for i in (1, 2, 3)
    ]
    assert (page["isQueryResult"], page["resultKind"]) == (True, "SUCCESS_WITH_CONTENT")
    assert page["results"]["columns"][1] == {
        "name": "d",
        "logicalType": {"type": "DECIMAL", "nullable": True, "precision": 5, "scale": 1},
        "comment": None,
    }
    cluster.await_status(page["jobID"], "FINISHED")


def test_plain_texts(session: Session) -> None:
    _, rows = session.run(
        "SELECT DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05.6', ARRAY[1, 2], TRUE, CAST(NULL AS INT)",
        "?rowFormat=PLAIN_TEXT",
    )
    assert rows[0]["fields"] == ["2020-01-02", "2020-01-02 03:04:05.6", "[1, 2]", "TRUE", None]


def test_a_statement_that_fails(cluster: SessionCluster, session: Session) -> None:
    operation = session.start("SELECT nope FROM numbers")
    with pytest.raises(RequestRefusedError, match="nope") as refused:
        list(session.pages(operation))
    assert refused.value.status == 500
    status = cluster.client.get(f"{session.path}/operations/{operation}/status")
    assert status == {"status": "ERROR"}


def test_an_endless_query_is_cancelled_and_a_job_that_writes_is_stopped(
    cluster: SessionCluster, session: Session
) -> None:
    operation = session.start("SELECT id FROM endless")
    job_id = next(page["jobID"] for page in session.pages(operation) if page.get("results", {}).get("data"))
    path = f"{session.path}/operations/{operation}"
    assert cluster.client.send("POST", f"{path}/cancel") == {"status": "CANCELED"}
    cluster.await_status(job_id, "CANCELED")
    assert cluster.client.send("DELETE", f"{path}/close") == {"status": "CLOSED"}
    with pytest.raises(RequestRefusedError) as refused:
        cluster.client.get(f"{path}/status")
    assert refused.value.status == 404
    session.run("CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole')")
    page, rows = session.run("INSERT INTO nowhere SELECT id FROM endless")
    written = page["jobID"]
    assert (rows, page["isQueryResult"]) == ([{"kind": "INSERT", "fields": [written]}], False)
    cluster.await_status(written, "RUNNING")
    _, listed = session.run("SHOW JOBS")
    assert written in {row["fields"][0] for row in listed}
    session.run(f"STOP JOB '{written}'")
    cluster.await_status(written, "CANCELED")


def test_the_client_by_the_gateway(cluster: SessionCluster) -> None:
    lines: list[str] = []
    executor = GatewayExecutor(cluster.client, SETTINGS)
    found = Client(executor, lambda text: lines.extend(text.split("\n")))
    assert found.run_all([NUMBERS, "SHOW TABLES", "SELECT id FROM numbers", "EXPLAIN SELECT id FROM numbers"])
    assert lines[0] == "[INFO] Execute statement succeeded."
    assert "|    numbers |" in lines
    assert "| +I |           3 |" in lines
    assert "Received a total of 3 rows" in lines
    assert "== Abstract Syntax Tree ==" in lines
    assert not found.run("SELECT nope FROM numbers")
    assert "nope" in "\n".join(lines[-4:])
    assert list(executor.candidates("SELECT * FROM n", 15)) == ["numbers"]
    executor.close()


# ---- without a cluster


def test_idle_sessions_are_closed(tmp_path: Path) -> None:
    now_s = [0.0]

    async def scenario() -> None:
        (tmp_path / "work").mkdir()
        cancelled: list[str] = []

        async def cancel(job_id: str) -> None:
            cancelled.append(job_id)

        settings = {"sql-gateway.session.idle-timeout": "10 s", "sql-gateway.session.max-num": "1"}
        found = SqlSessions(tmp_path, settings, cancel, lambda: now_s[0])
        handle = await found.open("first", {})
        with pytest.raises(RestError, match="exceeds the max count: 1"):
            await found.open("second", {})
        now_s[0] = 9
        found.touch(handle)
        now_s[0] = 18
        await found.close_idle()
        found.touch(handle)
        now_s[0] = 29
        await found.close_idle()
        with pytest.raises(RestError, match="does not exist"):
            found.touch(handle)
        assert not list((tmp_path / "work").iterdir())
        await found.end()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "data_type",
    [
        t.IntType(),
        t.VarCharType(nullable=False),
        t.DecimalType(10, 2),
        t.TimestampType(3),
        t.LocalZonedTimestampType(6),
        t.DayTimeIntervalType("DAY_TO_SECOND", 3, 6),
        t.ArrayType(t.MapType(t.CharType(3), t.DoubleType())),
        t.RowType((t.RowField("a", t.IntType()), t.RowField("b", t.DateType(), "when"))),
        t.NullType(),
    ],
    ids=str,
)
def test_types_as_json(data_type: t.DataType) -> None:
    made = json.loads(json.dumps(type_to_json(data_type)))
    assert type_from_json(made) == data_type


# ---- beside Flink's gateway

#: What Flink 2.3.0 answered, one request after another.
RECORDED = json.loads((Path(__file__).parent / "data" / "sql_gateway_of_flink.json").read_text())
#: Flink answers 500 where there is no such thing, or to a token that is not allowed; here it is the client's
#: mistake. An operation that has ended may be cancelled once more.
OTHER_STATUS = {
    "GET /v3/sessions/nope": 404,
    "GET /v3/sessions/01234567-89ab-cdef-0123-456789abcdef": 404,
    "GET /v3/sessions/{session0}/operations/01234567-89ab-cdef-0123-456789abcdef/status": 404,
    "GET /v3/sessions/{session0}/operations/nope/status": 404,
    "GET /v3/sessions/{session0}/operations/{operation0}/result/7?rowFormat=JSON": 400,
    "POST /v3/sessions/{session0}/operations/{operation0}/cancel": 200,
}


def test_answers_are_those_of_flink(cluster: SessionCluster) -> None:
    """The whole recording, with the same statuses, fields and values; handles and versions are our own."""
    handles: dict[str, str] = {}

    def named(text: str) -> str:
        for name, handle in handles.items():
            text = text.replace(name, handle)
        return text

    opened = started = 0
    for example in RECORDED:
        name = f"{example['method']} {example['path']}"
        status, answer = send(cluster, example["method"], named(example["path"]), example["body"])
        if name == "DELETE /v3/sessions/{session0}" and "{session0}" not in handles:
            assert status == 404  # closed a second time
            continue
        assert status == OTHER_STATUS.get(name, example["status"]), (name, answer)
        if "sessionHandle" in answer:
            handles[f"{{session{opened}}}"], opened = answer["sessionHandle"], opened + 1
        if "operationHandle" in answer:
            handles[f"{{operation{started}}}"], started = answer["operationHandle"], started + 1
            path = f"{named('/v3/sessions/{session0}')}/operations/{answer['operationHandle']}"
            until(lambda path=path: finished(cluster, path))
        if status != 200 or example["status"] != 200:
            assert answer["errors" if status != 200 else "status"]
        elif "version" in answer or "sessionHandle" in answer or "operationHandle" in answer:
            assert list(answer) == list(example["answer"])
        elif "candidates" in answer:
            assert answer == {"candidates": ["CREATE"]}  # Flink completes no first word
        else:
            assert answer == json.loads(named(json.dumps(example["answer"]))), name
            assert list(answer) == list(example["answer"]), name
        if name == "DELETE /v3/sessions/{session0}":
            del handles["{session0}"]
    cluster.client.send("DELETE", f"/v3/sessions/{handles['{session1}']}")


def finished(cluster: SessionCluster, path: str) -> bool:
    return cluster.client.get(f"{path}/status")["status"] in ("FINISHED", "ERROR")


def send(cluster: SessionCluster, method: str, path: str, body: Any) -> tuple[int, Any]:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{cluster.url}{path}", content, method=method)
    try:
        with urllib.request.urlopen(request, timeout=patience(60)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.loads(refusal.read())
