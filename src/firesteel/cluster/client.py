"""The REST API of a cluster as its clients use it: JSON over HTTP, with patience."""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.options import rest

_RETRIES: Final = 20
_RETRY_S: Final = 3.0
_TIMEOUT_S: Final = 60.0
_FOLLOWED_AT_MOST: Final = 3  # dispatchers that name another one as leader, for one request
#: As Flink's client has it: a header in each line, ``name:value``.
HEADERS_VARIABLE: Final = "FLINK_REST_CLIENT_HEADERS"
#: A bearer token, or ``name:password``.
TOKEN_VARIABLE: Final = "FIRESTEEL_REST_TOKEN"
#: Of an answer 503 of a dispatcher that stands by: where the leader is.
LEADER_HEADER: Final = "firesteel-leader"
#: What is not of Flink's API is below this path.
OURS: Final = "/firesteel/v1"
T = TypeVar("T")


class ClusterUnreachableError(FiresteelError):
    """Nobody answers at the address of a cluster."""


class RequestRefusedError(FiresteelError):
    """A cluster refuses a request. ``status``: of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text or f"The cluster refuses the request (HTTP {status}).")
        self.status = status


@dataclass(frozen=True, slots=True)
class Address:
    """Where a cluster is, and how it is talked to."""

    host: str
    port: int
    tls: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    authorities: str | None = None  # a PEM file

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"


def address_of(text: str | None, configuration: Configuration) -> Address:
    """``HOST:PORT`` or ``https://HOST:PORT``; None: as ``rest.address`` and ``rest.port`` say.

    :raises ConfigurationError: it is no address.
    """
    if text is None:
        host = configuration.get(rest.ADDRESS) or "127.0.0.1"
        return Address(
            host,
            configuration.get(rest.PORT),
            configuration.get(rest.SSL),
            _headers(),
            configuration.get(rest.TRUSTSTORE),
        )
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        named, port = parts.hostname, parts.port
    except ValueError:
        named = port = None
    if not named or parts.scheme not in ("http", "https") or parts.path not in ("", "/"):
        raise ConfigurationError(f"{text} is not the address of a cluster", hint="write HOST:PORT")
    port = port or configuration.get(rest.PORT)
    return Address(named, port, parts.scheme == "https", _headers(), configuration.get(rest.TRUSTSTORE))


def _headers() -> dict[str, str]:
    lines = os.environ.get(HEADERS_VARIABLE, "").splitlines()
    found = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name
    }
    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        basic = base64.b64encode(token.encode()).decode()
        found["Authorization"] = f"Basic {basic}" if ":" in token else f"Bearer {token}"
    return found


class RestClient:
    """:param patience: how often a request is tried when nobody answers."""

    def __init__(self, address: Address, patience: int = _RETRIES) -> None:
        self.address = address
        self._patience = patience

    def get(self, path: str, kind: type[T] | Any = Any, **query: Any) -> Any:
        return self.send("GET", path, None, kind, query)

    def post(self, path: str, body: Any = None, kind: Any = Any) -> Any:
        return self.send("POST", path, body, kind)

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: Any = Any,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """The answer to a request.

        :raises ClusterUnreachableError: nobody answers. :raises RequestRefusedError: the answer is a refusal.
        """
        data = body if isinstance(body, bytes) else msgspec.json.encode({} if body is None else body)
        shown = {key: value for key, value in (query or {}).items() if value is not None}
        status, content = self._answer(method, _target(path, shown), data, isinstance(body, bytes))
        if status >= 300:
            raise RequestRefusedError(status, _refusal(content))
        return msgspec.json.decode(content or b"{}", type=kind)

    def content(self, path: str, **query: Any) -> bytes:
        """An answer that is a text, as it is: a part of a log may begin and end within a character."""
        status, content = self._answer("GET", _target(path, query), b"", False)
        if status >= 300:
            raise RequestRefusedError(status, _refusal(content))
        return content

    def events(self, path: str) -> Iterator[tuple[str, Any]]:
        """Server-sent events, until there are no more."""
        connection = self._connection(None)
        try:
            connection.request("GET", path, headers=dict(self.address.headers))
            answer = connection.getresponse()
            if answer.status >= 300:
                raise RequestRefusedError(answer.status, _refusal(answer.read()))
            name = ""
            for line in answer:
                field_, _, value = line.decode().rstrip("\n").partition(": ")
                if field_ == "event":
                    name = value
                elif field_ == "data":
                    yield name, msgspec.json.decode(value)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _answer(self, method: str, target: str, data: bytes, raw: bool) -> tuple[int, bytes]:
        kind = "application/octet-stream" if raw else "application/json; charset=UTF-8"
        headers = {**self.address.headers, "content-type": kind}
        left, followed = self._patience, 0
        while True:
            left -= 1
            connection = self._connection(_TIMEOUT_S)
            try:
                connection.request(method, quote(target, safe="/?&=%:"), body=data, headers=headers)
                answer = connection.getresponse()
                content = answer.read()
                leader = answer.getheader(LEADER_HEADER)
                if answer.status == 503 and leader is not None and followed < _FOLLOWED_AT_MOST:
                    followed += 1
                    left += 1  # it was answered
                    self._turn_to(leader)
                    continue
                if answer.status != 503 or left <= 0:
                    return answer.status, content
            except (OSError, http.client.HTTPException) as error:
                if left <= 0 or isinstance(error, ssl.SSLError):
                    raise self._unreachable(error) from error
            finally:
                connection.close()
            time.sleep(_RETRY_S)

    def _turn_to(self, leader: str) -> None:
        """The dispatcher that was asked stands by: ask the one that leads from now on."""
        parts = urlsplit(leader)
        if parts.hostname is None or parts.port is None:
            raise ClusterUnreachableError("The leader of the cluster has no address.", detail=leader)
        tls = parts.scheme == "https"
        self.address = replace(self.address, host=parts.hostname, port=parts.port, tls=tls)

    def _connection(self, timeout_s: float | None) -> http.client.HTTPConnection:
        at = self.address
        if not at.tls:
            return http.client.HTTPConnection(at.host, at.port, timeout=timeout_s)
        return http.client.HTTPSConnection(at.host, at.port, timeout=timeout_s, context=self._tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Made once: reading all authorities takes longer than a request."""
        return ssl.create_default_context(cafile=self.address.authorities)

    def _unreachable(self, error: Exception) -> ClusterUnreachableError:
        return ClusterUnreachableError(
            f"There is no cluster at {self.address.url}",
            detail=str(error) or type(error).__name__,
            hint="start one by `firesteel cluster start`, or say where it is by -m HOST:PORT",
        )


def _target(path: str, query: Mapping[str, Any]) -> str:
    """A path, which is not quoted yet, with a query, which is: a space as %20, for + would be quoted anew."""
    return f"{path}?{urlencode(query, quote_via=quote)}" if query else path


def _refusal(content: bytes) -> str:
    try:
        return "\n".join(map(str, msgspec.json.decode(content)["errors"]))
    except (msgspec.MsgspecError, KeyError, TypeError):
        return content.decode(errors="replace")[:500]
