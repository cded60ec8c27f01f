"""ElasticsearchSink against real servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.errors import FiresteelError, ProgramError
from firesteel.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    FlushBackoffType,
)
from tests.places import free_port
from tests.runtime.support import environment
from tests.servers.elasticsearch.server import SearchServer


def write(
    records: list[Any], sink: ElasticsearchSink, parallelism: int = 1, type_info: Any = None, **settings: str
) -> None:
    env = environment(parallelism, **settings)
    env.from_collection(records, type_info).sink_to(sink)
    env.execute("documents")


def sink_of(
    server: SearchServer, emitter: ElasticsearchEmitter, adjust: Callable[[Any], Any] = lambda b: b
) -> ElasticsearchSink:
    builder = Elasticsearch7SinkBuilder().set_hosts([f"http://{server.address}"]).set_emitter(emitter)
    adjust(builder)
    return builder.build()


@pytest.mark.parametrize("kind", ["server", "opensearch"])
def test_values_of_all_kinds(kind: str, index: str, request: pytest.FixtureRequest) -> None:
    """By both servers; with three subtasks, and a node in the list that is not there."""
    server: SearchServer = request.getfixturevalue(kind)
    records = [
        {"id": n, "name": f"é {n}", "half": n / 2, "tags": ["a", None], "in": {"x": n}} for n in range(2500)
    ]
    emitter = ElasticsearchEmitter.static_index(index, "id")
    hosts = [f"http://127.0.0.1:{free_port()}", server.address]
    write(records, sink_of(server, emitter, lambda b: b.set_hosts(hosts)), 3)
    assert server.documents(index) == {str(record["id"]): record for record in records}


def test_a_document_is_changed_in_the_fields_of_the_record(server: SearchServer, index: str) -> None:
    write(
        [{"id": "a", "n": 1, "only": "first"}, {"id": "b", "n": 2}, {"id": "a", "n": 3}],
        sink_of(server, ElasticsearchEmitter.static_index(index, "id")),
    )
    expected = {"a": {"id": "a", "n": 3, "only": "first"}, "b": {"id": "b", "n": 2}}
    assert server.documents(index) == expected


def test_records_name_their_index(server: SearchServer, index: str) -> None:
    records = [{"to": f"{index}-{n % 3}", "n": str(n)} for n in range(30)]
    declared = Types.MAP(Types.STRING(), Types.STRING())
    write(records, sink_of(server, ElasticsearchEmitter.dynamic_index("to")), 2, declared)
    for part in range(3):
        found = sorted(int(document["n"]) for document in server.documents(f"{index}-{part}").values())
        assert found == list(range(part, 30, 3))


def test_documents_with_a_type(server: SearchServer, index: str) -> None:
    """Elasticsearch 7 still knows types."""
    builder = Elasticsearch6SinkBuilder().set_hosts(server.address)
    emitter = ElasticsearchEmitter.static_index(index, "id", "thing")
    write([{"id": "a"}], builder.set_emitter(emitter).build())
    assert server.ask("GET", f"/{index}/thing/a")["_source"] == {"id": "a"}


@pytest.mark.parametrize("back_off", [FlushBackoffType.CONSTANT, FlushBackoffType.EXPONENTIAL])
@pytest.mark.row("S-CONN-04")
def test_what_a_busy_cluster_refuses_is_sent_again(
    server: SearchServer, index: str, back_off: FlushBackoffType
) -> None:
    """One index of two refuses for a while, as when its disk is full: only its records are sent again."""
    full, free = f"{index}-full", f"{index}-free"
    server.ask("PUT", f"/{full}")
    server.settings(full, index__blocks__read_only_allow_delete=True)

    def make_room() -> None:
        while len(server.documents(free)) < 20:
            time.sleep(0.05)
        time.sleep(0.3)
        server.settings(full, index__blocks__read_only_allow_delete=None)

    thread = threading.Thread(target=make_room)
    thread.start()
    emitter = ElasticsearchEmitter.dynamic_index("to")
    records = [{"to": (full, free)[n % 2], "n": n} for n in range(40)]
    write(records, sink_of(server, emitter, lambda b: b.set_bulk_flush_backoff_strategy(back_off, 2_000, 50)))
    thread.join()
    for name, first in ((full, 0), (free, 1)):
        assert sorted(d["n"] for d in server.documents(name).values()) == list(range(first, 40, 2))


def test_a_cluster_that_stays_busy_fails_the_job(server: SearchServer, index: str) -> None:
    server.ask("PUT", f"/{index}")
    server.settings(index, index__blocks__read_only_allow_delete=True)
    emitter = ElasticsearchEmitter.static_index(index, "id")
    patient = sink_of(
        server, emitter, lambda b: b.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 2, 100)
    )
    begun = time.monotonic()
    with pytest.raises(FiresteelError, match="retries are over") as failed:
        write([{"id": "a"}], patient)
    assert time.monotonic() - begun > 0.2
    assert "status 429" in str(failed.value)
    assert "read-only" in str(failed.value)
    with pytest.raises(FiresteelError, match="status 429"):
        write([{"id": "a"}], sink_of(server, emitter))


@pytest.mark.row("S-CONN-04")
def test_a_refused_document_is_named(server: SearchServer, index: str) -> None:
    """Index, id and the server's reason, down to its root; no retry helps, so none is made."""
    server.ask("PUT", f"/{index}", {"mappings": {"properties": {"n": {"type": "integer"}}}})
    emitter = ElasticsearchEmitter.static_index(index, "id")
    sink = sink_of(
        server, emitter, lambda b: b.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 5, 60_000)
    )
    with pytest.raises(FiresteelError) as failed:
        write([{"id": "good", "n": 1}, {"id": "bad", "n": "x1"}, {"id": "worse", "n": "x2"}], sink)
    text = str(failed.value)
    for part in (
        f"index '{index}'",
        "id 'bad'",
        "1 others of 3",
        "status 400",
        "failed to parse",
        'For input string: "x1"',
    ):
        assert part in text
    assert set(server.documents(index)) == {"good"}


def test_a_cluster_without_memory_for_a_request_gets_it_again(server: SearchServer, index: str) -> None:
    """The whole request is refused."""
    limit = "network.breaker.inflight_requests.limit"
    server.ask("PUT", "/_cluster/settings", {"transient": {limit: "300kb"}})
    records = [{"id": n, "text": "x" * 1000} for n in range(600)]
    emitter = ElasticsearchEmitter.static_index(index, "id")
    try:
        with pytest.raises(FiresteelError, match="circuit_breaking_exception"):
            write(records, sink_of(server, emitter))
        timer = threading.Timer(0.5, server.ask, ("PUT", "/_cluster/settings", {"transient": {limit: None}}))
        timer.start()
        waits = (FlushBackoffType.EXPONENTIAL, 50, 20)
        write(records, sink_of(server, emitter, lambda b: b.set_bulk_flush_backoff_strategy(*waits)))
        timer.join()
    finally:
        server.ask("PUT", "/_cluster/settings", {"transient": {limit: None}})
    assert len(server.documents(index)) == 600


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"id": "a", "x": float("nan")}, "NaN"),
        ({"id": "a", "x": [None, {"y": float("inf")}]}, "NaN"),
        ({"id": "a", "x": object()}, "cannot be written as JSON"),
        ({"id": None}, "no id: the field 'id'"),
        ({"x": 1}, "no id: the field 'id'"),
        (["id", "a"], "no id: the field 'id'"),
    ],
)
def test_a_record_that_is_no_document(server: SearchServer, index: str, record: Any, reason: str) -> None:
    sink = sink_of(server, ElasticsearchEmitter.static_index(index, "id"))
    with pytest.raises(FiresteelError, match=reason):
        write([{"id": "b", "x": None}, record], sink)
    assert server.documents(index) == {}


def test_a_stream_of_something_else_is_refused(server: SearchServer, index: str) -> None:
    env = environment(1)
    with pytest.raises(ProgramError, match="writes dicts"):
        env.from_collection(["a"], Types.STRING()).sink_to(
            sink_of(server, ElasticsearchEmitter.static_index(index))
        )
