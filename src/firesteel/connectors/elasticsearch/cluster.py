"""Requests to the nodes of a cluster.

They use the standard library. A sink needs only one kind of request, which is the same for Elasticsearch and
OpenSearch, while Elasticsearch's client refuses to connect to OpenSearch.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final

import msgspec

from firesteel.common.errors import ConnectorError
from firesteel.common.masking import remember_secret
from firesteel.connectors._kept_client import KeptClient
from firesteel.connectors.elasticsearch.settings import ClusterSettings, Host

TOO_MANY: Final = 429  # status of requests that a busy cluster would accept later
_HINTS: Final = {
    401: "check user and password",
    403: "check user and password",
    404: "check hosts and path prefix",
    405: "check hosts and path prefix",
    413: "let requests be smaller: set_bulk_flush_max_size_mb()",
}
_OTHER_NODE: Final = (502, 503, 504)
_NO_ANSWER: Final = (OSError, HTTPException)
_PATIENCE_MS: Final = 8000  # to find the cluster before the job starts


@dataclass(frozen=True, slots=True)
class Refusal:
    """An action that the cluster rejected. ``position`` is its index in the request."""

    position: int
    status: int
    index: str | None
    id: str | None
    reason: str


class _AnyFailed(msgspec.Struct):
    errors: bool


class Cluster:
    """Keeps a connection to one node at a time until it breaks. It is not pickled."""

    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self._turn = 0
        self._kept = KeptClient()
        self._headers = {"Content-Type": "application/x-ndjson", "Accept": "application/json"}
        if settings.user is not None:
            credentials = base64.b64encode(f"{settings.user}:{settings.password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {credentials}"
            remember_secret(settings.password)
            remember_secret(credentials)

    def __reduce__(self) -> tuple[Any, ...]:
        return Cluster, (self.settings,)

    def begin_with(self, number: int) -> None:
        """Start with this node: subtasks spread over the nodes."""
        if self._kept.client is None:
            self._turn = number

    # ---- what is asked

    def check(self) -> None:
        """Connect to the cluster with a short timeout.

        :raises ConnectorError: the cluster cannot be reached; the error says why.
        """
        settings = self.settings
        each_ms = _PATIENCE_MS // (2 * len(settings.hosts))
        asked = Cluster(
            replace(
                settings,
                connect_timeout_ms=min(settings.connect_timeout_ms or each_ms, each_ms),
                socket_timeout_ms=min(settings.socket_timeout_ms or each_ms, each_ms),
            )
        )
        try:
            status, answer = asked._request("GET", "/")
        finally:
            asked.drop()
        if status != 200:
            raise self._refused(status, answer)
        if b'"cluster_name"' not in answer:
            raise ConnectorError(
                f"What answers at {settings.address} is not Elasticsearch.",
                detail=_reason(answer),
                hint="check hosts and path prefix",
            )

    def bulk(self, actions: Sequence[bytes]) -> list[Refusal]:
        """Send actions in order; return those that the cluster rejected.

        :raises ConnectorError: no node answers, or the cluster rejects the whole request.
        """
        status, answer = self._request("POST", "/_bulk", b"".join(actions))
        if status == TOO_MANY:
            return [Refusal(n, TOO_MANY, None, None, _reason(answer)) for n in range(len(actions))]
        if status != 200:
            raise self._refused(status, answer)
        if not msgspec.json.decode(answer, type=_AnyFailed).errors:
            return []
        return list(_refusals(msgspec.json.decode(answer)["items"]))

    def drop(self) -> None:
        self._kept.drop()

    def _refused(self, status: int, answer: bytes) -> ConnectorError:
        return ConnectorError(
            f"Elasticsearch at {self.settings.address} refuses the request, with status {status}.",
            detail=_reason(answer),
            hint=_HINTS.get(status),
        )

    # ---- how

    def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Return status and body of the first response, from the current node or else from the others in
        turn."""
        if self._kept.client is not None:
            try:
                return self._ask(self._kept.client, method, path, body)
            except _NO_ANSWER:  # a node may close an idle connection
                self.drop()
        hosts, failures = self.settings.hosts, []
        for _ in hosts:
            host = hosts[self._turn % len(hosts)]
            try:
                return self._ask(self._kept.keep(self._connected(host)), method, path, body)
            except _NO_ANSWER as error:
                self.drop()
                self._turn += 1
                failures.append(f"{host}: {error or type(error).__name__}")
        raise ConnectorError(
            f"No answer from Elasticsearch at {self.settings.address}.",
            detail="; ".join(failures),
            hint="check the hosts, and that the server runs",
        )

    def _connected(self, host: Host) -> HTTPConnection:
        timeout_s = self.settings.connect_timeout_ms / 1000 or None
        if host.scheme == "https":
            context = ssl.create_default_context()
            connection: HTTPConnection = HTTPSConnection(
                host.name, host.port, timeout=timeout_s, context=context
            )
        else:
            connection = HTTPConnection(host.name, host.port, timeout=timeout_s)
        connection.connect()
        connection.auto_open = 0  # reconnecting is done here, with the configured timeouts
        connection.sock.settimeout(self.settings.socket_timeout_ms / 1000 or None)
        return connection

    def _ask(
        self, connection: HTTPConnection, method: str, path: str, body: bytes | None
    ) -> tuple[int, bytes]:
        connection.request(method, self.settings.path_prefix + path, body, self._headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status in _OTHER_NODE:
            raise HTTPException(f"status {response.status}: {_reason(answer)}")
        return response.status, answer


def _refusals(items: Iterable[dict[str, dict[str, Any]]]) -> Iterable[Refusal]:
    for position, item in enumerate(items):
        (result,) = item.values()  # keyed by the name of the action
        if "error" in result:
            reason = _told(result["error"])
            yield Refusal(position, result["status"], result.get("_index"), result.get("_id"), reason)


def _reason(answer: bytes) -> str:
    """Return the error message of a response, if it comes from Elasticsearch."""
    try:
        return _told(msgspec.json.decode(answer)["error"])
    except (msgspec.DecodeError, TypeError, KeyError):
        return answer[:300].decode(errors="replace") or "the answer is empty"


def _told(error: Any) -> str:
    """Return ``type: reason`` and its causes, down to the root."""
    told = []
    while isinstance(error, dict):
        told.append(f"{error.get('type')}: {error.get('reason')}")
        error = error.get("caused_by")
    return "; because of ".join(told) or str(error)
