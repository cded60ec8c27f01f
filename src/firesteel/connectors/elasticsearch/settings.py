"""Where a cluster is, how long to wait for it, and how much to send at once."""

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
        """``host``, ``host:port``, or either of them behind ``http://`` or ``https://``. Without a port it
        is that of the scheme, 80 or 443 (Flink: ``HttpHost.create``)."""
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

    :param hosts: nodes of it; each of them serves, the next one when one does not answer.
    :param path_prefix: what the paths of all requests begin with: empty, or ``/...``, no slash at its end.
    :param connect_timeout_ms: milliseconds for a connection to be made; 0: as long as it takes.
    :param socket_timeout_ms: milliseconds between two packets of an answer; 0: as long as it takes.
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
    """As Elasticsearch's own clients: slowly at first, so that 8 retries from 50 ms on take 5 s."""
    return delay_ms + 10 * (int(math.exp(0.8 * retry)) - 1)


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long to wait before what a busy cluster has refused is sent again.

    :param retries: 0: what is refused once fails the job.
    :param wait_ms: milliseconds before a retry, of the delay and the number of the retry, from 0.
    """

    retries: int = 0
    delay_ms: int = 0
    wait_ms: Callable[[int, int], int] = constant_ms

    def waits_ms(self) -> Iterator[int]:
        return (self.wait_ms(self.delay_ms, retry) for retry in range(self.retries))


@dataclass(frozen=True, slots=True)
class FlushOptions:
    """When a request is sent; None: no such limit. At the end of an epoch it is sent in any case.

    :param actions: the number of records at which it is full.
    :param size: the number of bytes at which it is full.
    :param interval_ms: the age of its oldest record, in milliseconds, checked when further records arrive.
    """

    actions: int | None = 1000
    size: int | None = 5 << 20
    interval_ms: int | None = None
