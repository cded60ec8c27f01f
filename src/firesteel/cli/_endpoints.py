"""Checks whether brokers and databases are reachable from here."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import Final

from firesteel.cli._findings import Finding, fail, failed, ok
from firesteel.common.errors import FiresteelError
from firesteel.common.masking import masked

_PATIENCE_S: Final = 5.0
_PORTS: Final = {
    "amqp": 5672,
    "amqps": 5671,
    "cassandra": 9042,
    "http": 80,
    "https": 443,
    "mongodb": 27017,
    "pulsar": 6650,
    "redis": 6379,
    "rediss": 6379,
}
_ADDRESS: Final = re.compile(
    r"^(?:(?P<scheme>[\w+]+)://)?(?:[^@/]*@)?(?P<host>\[[^\]]+\]|[^:/?]+)(?::(?P<port>\d+))?(?:[/?].*)?$"
)


def check_endpoint(endpoint: str) -> Finding:
    """Check ``jdbc:...`` and ``kafka://host:port,...`` with their own protocols, and all others by connecting
    to their port: ``redis://``, ``amqp://``, ``http://`` ... or ``host:port``."""
    check = _BY_PROTOCOL.get(endpoint.partition(":")[0], _check_port)
    try:
        return check(endpoint)
    except FiresteelError as e:
        return failed(e)


def _check_jdbc(url: str) -> Finding:
    from firesteel.connectors.jdbc.databases import database_of
    from firesteel.connectors.jdbc.options import ConnectionOptions

    database_of(ConnectionOptions(url)).connect().close()
    return ok(f"{masked(url)} lets us in")


def _check_kafka(url: str) -> Finding:
    from firesteel.connectors.kafka.client import Cluster

    servers = url.removeprefix("kafka://").rstrip("/")
    found = Cluster({"bootstrap.servers": servers}).metadata(patience_s=_PATIENCE_S)
    return ok(f"kafka://{servers}: {len(found.brokers)} brokers answer")


def _check_port(endpoint: str) -> Finding:
    found = _ADDRESS.match(endpoint)
    port = None if found is None else found["port"] or _PORTS.get(found["scheme"] or "")
    if found is None or port is None:
        return fail(
            f"{endpoint} is not an endpoint", "write kafka://host:9092, jdbc:..., redis://host or host:port"
        )
    host = found["host"].strip("[]")
    try:
        socket.create_connection((host, int(port)), _PATIENCE_S).close()
    except OSError as e:
        return fail(
            f"{host}:{port} cannot be reached: {e}",
            "start the server, check host and port, or open the firewall for this machine and the workers",
        )
    return ok(f"{host}:{port} can be reached")


_BY_PROTOCOL: Final[dict[str, Callable[[str], Finding]]] = {"jdbc": _check_jdbc, "kafka": _check_kafka}
