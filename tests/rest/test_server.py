"""The server on a port: credentials, TLS, limits, clients that are slow, ports that are taken."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import get_executor
from firesteel.rest import application
from firesteel.rest.credentials import password_hash
from firesteel.rest.local import LocalCluster
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings, TlsSettings
from firesteel.testing import MiniCluster
from tests.rest.jobs import live
from tests.waiting import patience, until

ANY_PORT = RestSettings(ports=(0,))


@contextmanager
def serving(settings: RestSettings = ANY_PORT) -> Iterator[RestServer]:
    with MiniCluster.in_process():
        executor = get_executor()
        assert isinstance(executor, Executor)
        cluster = LocalCluster(executor)
        try:
            with RestServer(cluster, settings) as server:
                yield server
        finally:
            cluster.close()


def get(server: RestServer, path: str = "/config", method: str = "GET", **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
    try:
        connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, json.loads(body) if body else None
    finally:
        connection.close()


def credentials(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "credentials"
    file.write_text("# who may do what\n" + "\n".join(lines) + "\n")
    file.chmod(0o600)
    return file


def test_it_is_bound_to_this_machine_alone() -> None:
    with serving() as server:
        assert server._socket.getsockname()[0] == "127.0.0.1"
        assert get(server)[0] == 200
        port = server.port
        assert server.url == f"http://127.0.0.1:{port}"
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), 1):  # noqa: PT011
        pass


def test_tokens(tmp_path: Path) -> None:
    import hashlib

    digest = hashlib.sha256(b"s3cret-of-operators").hexdigest()
    file = credentials(tmp_path, "read only-for-reading", f"operate sha256:{digest}")
    with serving(replace(ANY_PORT, auth="token", auth_file=file)) as server:
        status, body = get(server)
        assert status == 401
        assert "Authorization" in body["errors"][0]
        assert get(server, Authorization="Bearer wrong")[0] == 401
        assert get(server, Authorization="Basic b25seS1mb3ItcmVhZGluZw==")[0] == 401
        assert get(server, "/firesteel/v1/openapi.json")[0] == 401
        assert get(server, Authorization="Bearer only-for-reading")[0] == 200
        assert get(server, Authorization="bearer s3cret-of-operators")[0] == 200
        status, body = get(server, "/cluster", "DELETE", Authorization="Bearer only-for-reading")
        assert (status, "operate" in body["errors"][0]) == (403, True)
        assert get(server, "/cluster", "DELETE", Authorization="Bearer s3cret-of-operators")[0] == 200


def test_names_with_passwords(tmp_path: Path) -> None:
    import base64

    file = credentials(tmp_path, "read ann:plain-words", f"operate bob:{password_hash('hidden: words')}")

    def basic(text: str) -> str:
        return "Basic " + base64.b64encode(text.encode()).decode()

    with serving(replace(ANY_PORT, auth="basic", auth_file=file)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
        connection.request("GET", "/config")
        answer = connection.getresponse()
        assert answer.getheader("www-authenticate", "").startswith("Basic realm=")
        connection.close()
        for wrong in ("ann:words", "bob:", "eve:plain-words", "bob", "ann:plain-words:"):
            assert get(server, Authorization=basic(wrong))[0] == 401, wrong
        assert get(server, Authorization="Basic ???")[0] == 401
        assert get(server, Authorization=basic("ann:plain-words"))[0] == 200
        assert get(server, "/cluster", "DELETE", Authorization=basic("ann:plain-words"))[0] == 403
        for _ in range(2):  # the second one is not computed again
            assert get(server, "/cluster", "DELETE", Authorization=basic("bob:hidden: words"))[0] == 200


@pytest.mark.parametrize(
    ("lines", "mode", "says"),
    [
        ((), 0o600, "There are no credentials"),
        (("everything secret",), 0o600, "Line 2"),
        (("operate",), 0o600, "Line 2"),
        (("operate sha256:12",), 0o600, "Line 2"),
        (("operate secret",), 0o644, "chmod 600"),
    ],
)
def test_a_file_of_credentials_that_is_not_sound(
    tmp_path: Path, lines: tuple[str, ...], mode: int, says: str
) -> None:
    file = credentials(tmp_path, *lines)
    file.chmod(mode)
    with (
        pytest.raises(ConfigurationError, match=says) as raised,
        serving(replace(ANY_PORT, auth="token", auth_file=file)),
    ):
        pass
    assert "secret" not in str(raised.value).replace("SECRET", "")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PEM file with a certificate of its own for localhost, and the key."""
    directory = tmp_path_factory.mktemp("tls")
    key, cert, both = directory / "key.pem", directory / "cert.pem", directory / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_text(cert.read_text() + key.read_text())
    return both


def over_tls(server: RestServer, context: ssl.SSLContext) -> int:
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=patience(10), context=context)
    try:
        connection.request("GET", "/config")
        return connection.getresponse().status
    finally:
        connection.close()


def test_tls_with_an_own_certificate(certificate: Path) -> None:
    with serving(replace(ANY_PORT, tls=TlsSettings(certificate))) as server:
        assert server.url.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificate))
        assert over_tls(server, trusting) == 200
        with pytest.raises(ssl.SSLError):
            over_tls(server, ssl.create_default_context())
        with pytest.raises((http.client.HTTPException, OSError)):
            get(server)  # no plain HTTP


def test_clients_need_a_certificate(certificate: Path) -> None:
    with serving(replace(ANY_PORT, tls=TlsSettings(certificate, clients=certificate))) as server:
        trusting = ssl.create_default_context(cafile=str(certificate))
        with pytest.raises((ssl.SSLError, OSError)):
            over_tls(server, trusting)
        trusting.load_cert_chain(certificate)
        assert over_tls(server, trusting) == 200


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("nothing")
    with (
        pytest.raises(ConfigurationError, match="certificate of the REST API cannot be used"),
        serving(replace(ANY_PORT, tls=TlsSettings(tmp_path / "none.pem"))),
    ):
        pass


def test_bodies_are_limited() -> None:
    path = "/jobs/" + "0" * 32 + "/stop"
    with serving(replace(ANY_PORT, body_bytes=2_000)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
        connection.request("POST", path, body=b" " * 3_000)
        answer = connection.getresponse()
        assert answer.status == 413
        assert "2000 bytes" in json.loads(answer.read())["errors"][0]
        connection.close()
        # The same without a length that could be looked at before.
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
        connection.request("POST", path, body=iter([b" " * 1_000] * 4), encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
        connection.request("POST", path, body=b"{}" + b" " * 1_000)
        assert connection.getresponse().status == 202
        connection.close()


def await_close(client: socket.socket) -> None:
    """Read until the server closes the connection, which it must."""
    client.settimeout(patience(10))
    with suppress(ConnectionError):
        while client.recv(1 << 16):
            pass


def answers(server: RestServer) -> bool:
    """A machine that stands still makes each client a slow one."""
    try:
        return get(server)[0] == 200
    except (ConnectionError, http.client.HTTPException):
        return False


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /config HTTP/1.1\r\nHost: loc",
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        b"POST /savepoint-disposal HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body that nobody reads", "half a body"],
)
def test_a_client_that_sends_too_slowly_is_cut_off(sent: bytes) -> None:
    with serving(replace(ANY_PORT, request_timeout_s=0.4)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(sent)
            await_close(client)
        until(lambda: answers(server))


def send_slowly(client: socket.socket, parts: list[bytes], pause_s: float) -> None:
    for part in parts:
        client.sendall(part)
        time.sleep(pause_s)


def test_a_client_that_sends_byte_by_byte_is_cut_off() -> None:
    with (
        serving(replace(ANY_PORT, request_timeout_s=0.4)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
        pytest.raises(ConnectionError),  # long before all is sent
    ):
        send_slowly(client, [bytes([b]) for b in b"GET /config HTTP/1.1\r\n" + b"X: y\r\n" * 99], 0.02)


def test_a_head_without_an_end_is_cut_off() -> None:
    with serving() as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        head = [b"GET /config HTTP/1.1\r\n", *[b"X-Filling: " + b"a" * 1000 + b"\r\n"] * 1000]
        with pytest.raises(ConnectionError):
            send_slowly(client, head, 0.001)
        assert get(server)[0] == 200


def test_a_client_that_does_not_read_is_cut_off(tmp_path: Path) -> None:
    """It asks for a page again and again, and reads nothing."""
    with (
        serving(replace(ANY_PORT, request_timeout_s=0.4)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(patience(10))
        page = b"GET /firesteel/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises(ConnectionError):
            send_slowly(client, [page] * 10_000, 0.005)


def test_the_next_port_of_a_range_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = taken.getsockname()[1]
        with serving(replace(ANY_PORT, ports=(first, 0))) as server:
            assert server.port != first
        with (
            pytest.raises(ConfigurationError, match=rf"{first} of 127\.0\.0\.1 is taken.*\n.*rest.bind-port"),
            serving(replace(ANY_PORT, ports=(first,))),
        ):
            pass


def test_an_address_that_is_not_of_this_machine() -> None:
    with (
        pytest.raises(ConfigurationError, match=r"cannot be bound to 192\.0\.2\.1"),
        serving(replace(ANY_PORT, host="192.0.2.1")),
    ):
        pass


def test_a_program_that_sets_the_port_is_served(caplog: pytest.LogCaptureFixture) -> None:
    """And a second job of it by the same server."""
    with MiniCluster.in_process() as mini:
        executor = get_executor()
        assert isinstance(executor, Executor)
        configuration = Configuration()
        configuration.set_string("rest.port", "0")
        for name in ("first", "second"):
            env = mini.environment(configuration)
            env.from_collection([1, 2]).map(lambda n: n).print()
            env.execute(name)
        url = application.serve(executor, configuration)
        port = int(url.rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience(10))
        connection.request("GET", "/jobs/overview")
        names = [job["name"] for job in json.loads(connection.getresponse().read())["jobs"]]
        connection.request("GET", "/jobmanager/config")
        assert {"key": "rest.port", "value": "0"} in json.loads(connection.getresponse().read())
        connection.close()
        assert names == ["second", "first"]
        configuration.set_string("rest.auth", "none")
        configuration.set_string("web.cancel.enable", "false")
        assert application.serve(executor, configuration) == url
        assert "other settings of the REST API have no effect" in caplog.text
    with pytest.raises(ConnectionRefusedError):  # it has ended with the cluster
        socket.create_connection(("127.0.0.1", port), 1)


def test_a_client_learns_what_came_of_a_stop_that_ended_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firesteel.rest.server._UNSEEN_S", patience(10))
    with MiniCluster.in_process() as mini:
        executor = get_executor()
        assert isinstance(executor, Executor)
        cluster = LocalCluster(executor)
        server = RestServer(cluster, ANY_PORT).start()
        job_id = str(live(mini, tmp_path, "orders").get_job_id())
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
        while True:
            connection.request("GET", f"/jobs/{job_id}/checkpoints")
            if json.loads(connection.getresponse().read())["counts"]["completed"]:
                break
        connection.request("POST", f"/jobs/{job_id}/stop", body="{}")
        trigger = json.loads(connection.getresponse().read())["request-id"]
        ending = threading.Thread(target=lambda: server.stop(wait_for_clients=True))
        ending.start()
        time.sleep(0.5)
        seen: dict[str, Any] = {"status": {"id": ""}}
        while seen["status"]["id"] != "COMPLETED":
            connection.request("GET", f"/jobs/{job_id}/savepoints/{trigger}")
            seen = json.loads(connection.getresponse().read())
            time.sleep(0.05)
        assert "location" in seen["operation"]
        connection.close()
        ending.join(patience(10))
        assert not ending.is_alive()
        cluster.close()
