"""What the sink asks of a cluster, and how it reads the answers: with a server that plays one."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from firesteel.common.errors import ConfigurationError, ConnectorError, ProgramError, UnsupportedFeatureError
from firesteel.connectors.base import WriterContext
from firesteel.connectors.elasticsearch.settings import BackOff, Host, constant_ms, exponential_ms
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from tests.places import free_port
from tests.waiting import in_time

_ROOT = {"cluster_name": "played"}


@pytest.fixture
def silent() -> Iterator[str]:
    """A node that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@dataclass
class Played:
    """:param answers: status and body of the next answers; when there are none left all is well.
    :param closes: how it ends a connection after an answer, if it does.
    """

    address: str = ""
    asked: list[tuple[str, str, str | None, list[Any]]] = field(default_factory=list)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    closes: str = ""
    delay_s: float = 0.0

    def sizes(self) -> list[int]:
        """How many documents each bulk request had."""
        return [len(lines) // 2 for _, path, _, lines in self.asked if path.endswith("/_bulk")]


@pytest.fixture
def played() -> Iterator[Played]:
    state = Played()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.answer([json.loads(line) for line in body.splitlines()])

        def do_GET(self) -> None:
            self.answer([])

        def answer(self, lines: list[Any]) -> None:
            state.asked.append((self.command, self.path, self.headers["Authorization"], lines))
            well = _ROOT if self.command == "GET" else {"errors": False, "items": []}
            status, content = state.answers.pop(0) if state.answers else (200, well)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            time.sleep(state.delay_s)
            self.send_response(status)
            if state.closes == "by a header":
                self.send_header("Connection", "close")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = bool(state.closes)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def builder(played: Played) -> Elasticsearch7SinkBuilder:
    emitter = ElasticsearchEmitter.static_index("things")
    return Elasticsearch7SinkBuilder().set_hosts(played.address).set_emitter(emitter)


def sink_of(made: Any) -> Any:
    return made.build().sink_for(None)


def send(sink: Any, *batches: list[Any]) -> None:
    writer = sink.create_writer(WriterContext(0, 1, "attempt", ""))
    for batch in batches:
        writer.write_batch(batch, None)
    writer.flush(False)
    writer.close()


def docs(count: int, size: int = 1) -> list[Any]:
    return [{"n": n, "text": "x" * size} for n in range(count)]


@pytest.mark.parametrize(
    ("adjust", "size", "sizes"),
    [
        (lambda b: b, 1, [1000, 1000, 500]),
        (lambda b: b, 10_000, [522, 522, 522, 522, 412]),
        (lambda b: b.set_bulk_flush_max_size_mb(1), 1000, [999, 998, 503]),
        (lambda b: b.set_bulk_flush_max_actions(700), 1, [700, 700, 700, 400]),
        (lambda b: b.set_bulk_flush_max_actions(-1).set_bulk_flush_max_size_mb(-1), 10_000, [2500]),
        (lambda b: b.set_bulk_flush_interval(0), 1, [1000, 500, 1000]),
        (lambda b: b.set_bulk_flush_interval(60_000), 1, [1000, 1000, 500]),
    ],
)
def test_when_a_request_is_full(
    played: Played, adjust: Callable[[Any], Any], size: int, sizes: list[int]
) -> None:
    records = docs(2500, size)
    send(sink_of(adjust(builder(played))), records[:1500], records[1500:])
    assert played.sizes() == sizes
    sent = [line for _, _, _, lines in played.asked for line in lines[1::2]]
    assert sent == records


def test_a_request_has_what_was_set(played: Played) -> None:
    made = builder(played).set_connection_username("u").set_connection_password("p:é")
    sink = sink_of(made.set_connection_path_prefix("search/v1/"))
    sink.validate()
    send(sink, docs(1))
    credentials = "Basic dTpwOsOp"
    assert [(what, path, who) for what, path, who, _ in played.asked] == [
        ("GET", "/search/v1/", credentials),
        ("POST", "/search/v1/_bulk", credentials),
    ]
    assert played.asked[1][3] == [{"index": {"_index": "things"}}, {"n": 0, "text": "x"}]


@pytest.mark.parametrize(
    ("emitter", "action", "document"),
    [
        (("things", "n", "t"), {"update": {"_index": "things", "_type": "t", "_id": "7"}}, {"doc": {"n": 7}}),
        (("things", None, "t"), {"index": {"_index": "things", "_type": "t"}}, {"n": 7}),
    ],
)
def test_actions(played: Played, emitter: Any, action: Any, document: Any) -> None:
    made = Elasticsearch6SinkBuilder().set_hosts(played.address)
    send(sink_of(made.set_emitter(ElasticsearchEmitter.static_index(*emitter))), [{"n": 7}])
    if "update" in action:
        action["update"]["retry_on_conflict"] = 3
        document["doc_as_upsert"] = True
    assert played.asked[0][3] == [action, document]


@pytest.mark.parametrize("how", ["silently", "by a header"])
def test_a_connection_that_was_closed_is_made_again(played: Played, how: str) -> None:
    """And keeps its timeouts: an answer may take longer than a connection."""
    sink = sink_of(builder(played).set_connection_timeout(150))
    played.closes, played.delay_s = how, 0.3
    for _ in range(3):
        send(sink, docs(2))
        time.sleep(0.05)
    assert played.sizes() == [2, 2, 2]


@pytest.mark.parametrize("status", [502, 503, 504])
def test_another_node_is_asked_when_one_is_not_ready(played: Played, status: int) -> None:
    played.answers = [(status, b"<html>not now</html>")]
    send(sink_of(builder(played).set_hosts([played.address, played.address])), docs(2))
    assert played.sizes() == [2, 2]
    played.answers = [(status, b"<html>not now</html>")]
    with pytest.raises(ConnectorError, match=f"status {status}: <html>not now"):
        send(sink_of(builder(played)), docs(2))


def test_a_node_that_says_nothing(played: Played, silent: str) -> None:
    sink = sink_of(builder(played).set_hosts(silent).set_socket_timeout(200))
    with pytest.raises(ConnectorError, match="timed out"):
        send(sink, docs(1))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((401, {"error": {"type": "security_exception", "reason": "who?"}}), "security_exception: who"),
        ((404, b"nothing here"), "status 404"),
        ((200, b"<html>Welcome</html>"), "is not Elasticsearch"),
    ],
)
def test_a_cluster_that_is_none(played: Played, answer: Any, reason: str) -> None:
    played.answers = [answer]
    with pytest.raises(ConnectorError, match=reason) as failed:
        sink_of(builder(played)).validate()
    hint = "check user and password" if answer[0] == 401 else "check hosts and path prefix"
    assert failed.value.hint == hint


def test_a_request_that_is_too_large(played: Played) -> None:
    played.answers = [(413, b"")]
    with pytest.raises(ConnectorError, match="set_bulk_flush_max_size_mb"):
        send(sink_of(builder(played)), docs(1))


def test_no_cluster_is_said_soon(played: Played, silent: str) -> None:
    """Whatever the timeouts, and how many the hosts."""
    hosts = [silent] * 3 + [f"127.0.0.1:{free_port()}"]
    made = builder(played).set_hosts(hosts).set_connection_timeout(0).set_socket_timeout(0)
    with (
        in_time(),
        pytest.raises(ConnectorError, match="No answer from Elasticsearch at http://127") as failed,
    ):
        sink_of(made).validate()
    assert "timed out" in str(failed.value)
    assert "refused" in str(failed.value)


def test_waits() -> None:
    assert list(BackOff(3, 70, constant_ms).waits_ms()) == [70, 70, 70]
    assert list(BackOff(8, 50, exponential_ms).waits_ms()) == [50, 60, 80, 150, 280, 580, 1250, 2740]
    assert list(BackOff().waits_ms()) == []


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("h", "http://h:80"),
        ("https://h", "https://h:443"),
        ("h:9200", "http://h:9200"),
        ("http://[::1]:9200", "http://[::1]:9200"),
    ],
)
def test_hosts(text: str, host: str) -> None:
    assert str(Host.parse(text)) == host


@pytest.mark.parametrize(
    "text", ["http://h:9200/prefix", "http://u:secret@h", "ftp://h", "h:x", "http://", "h:0"]
)
def test_no_hosts(text: str) -> None:
    with pytest.raises(ConfigurationError, match="Not the address of a node") as refused:
        Host.parse(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["Things", "a b", "a*", "-a", "..", "x" * 256, "a:b"])
def test_no_indexes(name: str) -> None:
    with pytest.raises(ConfigurationError, match="Not the name of an index"):
        ElasticsearchEmitter.static_index(name)


def test_settings_that_make_no_sense(played: Played) -> None:
    made = builder(played)
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (
            ProgramError,
            "cannot write exactly once",
            lambda: made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE),
        ),
        (
            ProgramError,
            "constant or exponential",
            lambda: made.set_bulk_flush_backoff_strategy(FlushBackoffType.NONE, 1, 1),
        ),
        (
            ProgramError,
            "number of retries",
            lambda: made.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 0, 1),
        ),
        (ProgramError, "number of actions", lambda: made.set_bulk_flush_max_actions(0)),
        (ProgramError, "size of a request", lambda: made.set_bulk_flush_max_size_mb(0)),
        (ProgramError, "Not an ElasticsearchEmitter", lambda: made.set_emitter("things")),
        (ConfigurationError, "needs a host", lambda: made.set_hosts([]).build()),
        (ProgramError, "needs an emitter", Elasticsearch7SinkBuilder().set_hosts("h").build),
        (
            ConfigurationError,
            "password and no user name",
            lambda: builder(played).set_connection_password("p").build(),
        ),
        (
            ProgramError,
            "Elasticsearch 6 have a type",
            Elasticsearch6SinkBuilder()
            .set_hosts("h")
            .set_emitter(ElasticsearchEmitter.static_index("a"))
            .build,
        ),
        (UnsupportedFeatureError, "no class HttpHost", made.get_http_host_class),
    ]
    for kind, message, call in wrong:
        with pytest.raises(kind, match=message):
            call()


def test_the_password_is_in_no_text(played: Played) -> None:
    made = builder(played).set_connection_username("u").set_connection_password("secret")
    sink = sink_of(made)
    assert "secret" not in repr(sink) + repr(sink.cluster.settings)
