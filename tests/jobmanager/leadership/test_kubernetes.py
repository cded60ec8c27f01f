"""The lease in Kubernetes, against a double of its API: what it answers to stale versions is what counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from firesteel.jobmanager.leadership import Candidate, Lease, LeaseUnavailableError
from firesteel.jobmanager.leadership.kubernetes import KubernetesLease


class Api:
    """``coordination.k8s.io/v1`` of one namespace."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self.status = 0  # of each answer, unless it is 0
        self._version = 0

    def answer(self, method: str, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.status:
            return self.status, {"kind": "Status", "message": "not today", "code": self.status}
        found = self.leases.get(name)
        if method == "POST":
            name = body["metadata"]["name"]
            if name in self.leases:
                return 409, {"kind": "Status", "message": "exists", "code": 409}
        elif found is None:
            return 404, {"kind": "Status", "message": "not found", "code": 404}
        elif method == "GET":
            return 200, found
        elif body["metadata"].get("resourceVersion") != found["metadata"]["resourceVersion"]:
            return 409, {"kind": "Status", "message": "the object has been modified", "code": 409}
        self._version += 1
        self.leases[name] = body | {"metadata": body["metadata"] | {"resourceVersion": str(self._version)}}
        return 200, self.leases[name]


@pytest.fixture
def api() -> Iterator[tuple[Api, str]]:
    double = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
            prefix = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
            assert self.path.startswith(prefix)
            status, answer = double.answer(self.command, self.path.removeprefix(prefix).strip("/"), body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = _serve

        def log_message(self, *arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield double, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def lease_at(host: str) -> KubernetesLease:
    return KubernetesLease("cluster-leader", "ns", 3, timeout_s=60, host=host)


def test_two_candidates(api: tuple[Api, str]) -> None:
    double, host = api
    first = Candidate(lease_at(host), "a", "http://a", 3_600)
    second = Candidate(lease_at(host), "b", "http://b", 3_600)
    first.step()
    second.step()
    assert (first.is_leader, second.is_leader) == (True, False)
    assert second.leader is not None
    assert second.leader.address == "http://a"
    spec = double.leases["cluster-leader"]["spec"]
    assert spec == {"holderIdentity": "a", "leaseDurationSeconds": 3, "leaseTransitions": 1}
    first.give_up()
    second.step()
    assert second.confirm() == 2
    first.store.close()
    second.store.close()


@pytest.mark.row("S-HA-10")
def test_a_stale_version_is_refused(api: tuple[Api, str]) -> None:
    store = lease_at(api[1])
    assert store.replace(Lease("a", "", 1, 0), None)
    assert not store.replace(Lease("b", "", 1, 0), None)
    _, version = store.read()
    assert store.replace(Lease("a", "", 1, 1), version)
    assert not store.replace(Lease("b", "", 2, 0), version)
    api[0].leases.clear()
    assert not store.replace(Lease("b", "", 2, 0), version)
    store.close()


def test_refusals_say_why(api: tuple[Api, str]) -> None:
    store = lease_at(api[1])
    api[0].status = 403
    with pytest.raises(LeaseUnavailableError, match="403: not today"):
        store.read()
    store.close()
    gone = KubernetesLease("x", "ns", 3, timeout_s=1, host="http://127.0.0.1:1")
    with pytest.raises(LeaseUnavailableError, match="does not answer"):
        gone.read()
    gone.close()
