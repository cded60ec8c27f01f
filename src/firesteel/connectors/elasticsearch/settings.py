"""Settings of a cluster: its nodes, timeouts and batch sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from firesteel.common.errors import ConfigurationError

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Host:
    """A node of a cluster."""

    scheme: str
    name: str
    port: int

    @staticmethod
    def parse(text: str) -> Host:
        """Parse ``host`` or ``host:port``, optionally prefixed with ``http://`` or ``https://``. The default
        port is that of the scheme, 80 or 443 (Flink: ``HttpHost.create``)."""
        parts = urlsplit(text if "://" in text else f"http://{text}")
        try:
            port = parts.port
        except ValueError:
            port = 0
        extra = parts.path or parts.query or parts.fragment or parts.username
        if parts.scheme not in _PORTS or not parts.hostname or extra or port == 0:
            raise ConfigurationError(
                f"Not the address of a node of Elasticsearch: {text.rpartition('@')[2]!r}.",
                hint="http://host:9200 or https://host:9200; setters take user, password and path prefix",
            )
        return Host(parts.scheme, parts.hostname, port or _PORTS[parts.scheme])

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"{self.scheme}://{name}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How to reach a cluster.

    :param hosts: its nodes, any of which can be used; if one does not answer the next one is tried.
    :param path_prefix: prefix of the paths of all requests: empty, or ``/...`` without a trailing slash.
    :param connect_timeout_ms: milliseconds to wait for a connection; 0: no limit.
    :param socket_timeout_ms: milliseconds between two packets of a response; 0: no limit.
    """

    hosts: tuple[Host, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    path_prefix: str = ""
    connect_timeout_ms: int = 1000
    socket_timeout_ms: int = 30_000

    def __post_init__(self) -> None:
        if not self.hosts:
            raise ConfigurationError(
                "An Elasticsearch sink needs a host.", hint="set_hosts(['http://host:9200'])"
            )
        if (self.user is None) != (self.password is None):
            given, missing = ("user name", "password") if self.password is None else ("password", "user name")
            raise ConfigurationError(
                f"The connection to Elasticsearch has a {given} and no {missing}.",
                hint="set_connection_username() and set_connection_password()",
            )

    @property
    def address(self) -> str:
        return ", ".join(map(str, self.hosts)) + self.path_prefix


def constant_ms(delay_ms: int, retry: int) -> int:
    return delay_ms


def exponential_ms(delay_ms: int, retry: int) -> int:
    """The back-off of Elasticsearch's own clients: it starts slowly, so that 8 retries from 50 ms take 5
    s."""
    return delay_ms + 10 * (int(math.exp(0.8 * retry)) - 1)


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long to wait before retrying what a busy cluster rejected.

    :param retries: 0: the first rejection fails the job.
    :param wait_ms: returns the milliseconds before a retry, from the delay and the number of the retry (from
        0).
    """

    retries: int = 0
    delay_ms: int = 0
    wait_ms: Callable[[int, int], int] = constant_ms

    def waits_ms(self) -> Iterator[int]:
        return (self.wait_ms(self.delay_ms, retry) for retry in range(self.retries))


@dataclass(frozen=True, slots=True)
class FlushOptions:
    """When to send a request; None means no such limit. At the end of an epoch it is sent in any case.

    :param actions: number of records.
    :param size: number of bytes.
    :param interval_ms: milliseconds since the first waiting record, checked when more records arrive.
    """

    actions: int | None = 1000
    size: int | None = 5 << 20
    interval_ms: int | None = None
