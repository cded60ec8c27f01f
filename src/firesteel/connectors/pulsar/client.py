"""Access to a cluster: the brokers through this process's client, the administration over HTTP."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.extras import extra
from firesteel.common.masking import remember_address
from firesteel.connectors.pulsar.cursors import EARLIEST, Place

if TYPE_CHECKING:
    from pulsar import Client

_PATIENCE_S: Final = 30.0
CHECK_S: Final = 4.0  # problems of a program should be reported quickly
_NOT_FOUND, _CONFLICT, _BUSY = 404, 409, 412
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class PulsarSettings:
    """:param service_url: of the brokers, ``pulsar://host:6650``.
    :param admin_url: of the administration, ``http://host:8080``.
    """

    service_url: str
    admin_url: str


def load_client() -> Any:
    """Import the module pulsar."""
    return extra("pulsar", "Pulsar", "pulsar", "pulsar-client")


#: By process: after a fork a client's threads stay with the parent, so the child could not shut it down.
_clients: dict[tuple[int, str], Client] = {}
_lock = threading.Lock()


def client(settings: PulsarSettings) -> Client:
    """Return the client of this process. It connects on first use and reconnects if necessary."""
    with _lock:
        found = _clients.get((os.getpid(), settings.service_url))
        if found is None:
            found = _clients[os.getpid(), settings.service_url] = _new_client(settings, _PATIENCE_S)
        return found


def _new_client(settings: PulsarSettings, patience_s: float) -> Client:
    pulsar = load_client()
    remember_address(settings.service_url)
    return pulsar.Client(
        settings.service_url,
        operation_timeout_seconds=int(patience_s),
        connection_timeout_ms=int(patience_s * 1000),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )


def check_brokers(settings: PulsarSettings, partition: str) -> None:
    """:raises ConnectorError: the brokers do not answer."""
    checking = _new_client(settings, CHECK_S)
    try:
        checking.get_topic_partitions(partition)
    except load_client().PulsarException as error:
        raise ConnectorError(
            f"No connection to Pulsar at {settings.service_url}.",
            detail=f"{type(error).__name__}: {error}",
            hint="check set_service_url(), as in pulsar://host:6650, and that the cluster runs",
        ) from error
    finally:
        checking.close()


def topic_name(topic: str) -> str:
    """Return the full name: ``persistent://tenant/namespace/topic``."""
    if "://" in topic:
        return topic
    return f"persistent://{topic}" if topic.count("/") == 2 else f"persistent://public/default/{topic}"


class Admin:
    """Requests to the administration."""

    def __init__(self, settings: PulsarSettings, patience_s: float = _PATIENCE_S) -> None:
        self._url = settings.admin_url.rstrip("/")
        self._patience_s = patience_s

    def partitions(self, topic: str) -> list[str]:
        """Return the partitions of a topic, or the topic itself if it has none.

        :raises ConfigurationError: the topic does not exist.
        """
        place = _path(topic)
        count = (self._call("GET", f"{place}/partitions") or {}).get("partitions", 0)
        if count:
            return [f"{topic}-partition-{i}" for i in range(count)]
        namespace, _, _ = place.rpartition("/")
        if topic not in (self._call("GET", namespace) or []):
            raise ConfigurationError(
                f"There is no Pulsar topic {topic!r}.",
                detail=f"says the administration at {self._url}",
                hint="create it first, or correct its name",
            )
        return [topic]

    def topics(self, namespace: str) -> list[str]:
        """Return the topics of ``tenant/namespace``, with each partition as a separate topic."""
        return list(self._call("GET", f"persistent/{namespace}") or [])

    def last(self, partition: str) -> Place:
        """Return the place of the last message; ``entry`` is -1 if it is in an earlier ledger or does not
        exist."""
        found = self._call("GET", f"{_path(partition)}/lastMessageId")
        if found is None:
            return EARLIEST
        entry = found["entryId"]
        return Place(found["ledgerId"], entry, -1 if entry < 0 else max(0, found.get("batchIndex", 0)))

    def subscribe(self, partition: str, name: str) -> None:
        """Create a subscription. From then on Pulsar retains what follows it. An existing one is left as it
        is."""
        start = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
        self._call("PUT", f"{_path(partition)}/subscription/{_quoted(name)}", start)

    def acknowledge(self, partition: str, name: str, place: Place, whole_entry: bool) -> None:
        """Let Pulsar delete everything before the entry of ``place``; with ``whole_entry`` also that
        entry."""
        position = {
            "ledgerId": place.ledger,
            "entryId": place.entry + whole_entry,
            "partitionIndex": -1,
            "isExcluded": False,
        }
        self._call("POST", f"{_path(partition)}/subscription/{_quoted(name)}/resetcursor", position)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the response; None if it is empty or the name does not exist."""
        url = f"{self._url}/admin/v2/{path}"
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data, headers, method=method)
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                with urllib.request.urlopen(request, timeout=self._patience_s) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == _NOT_FOUND or (error.code == _CONFLICT and method == "PUT"):
                        return None
                    # Another request works on the same subscription, as while partitions are added.
                    if error.code == _BUSY and time.monotonic() < deadline:
                        time.sleep(_PAUSE_S)
                        continue
                    detail = f"{method} {url}: {error.code} {error.read(300).decode(errors='replace')}"
                raise ConnectorError("Pulsar's administration refuses a request.", detail=detail) from error
            except (OSError, ValueError) as error:
                raise ConnectorError(
                    f"Pulsar's administration at {self._url} does not answer.",
                    detail=str(getattr(error, "reason", error)),
                    hint="check set_admin_url(), as in http://host:8080, and that the cluster runs",
                ) from error


def _path(topic: str) -> str:
    domain, _, rest = topic.partition("://")
    return f"{domain}/{'/'.join(map(_quoted, rest.split('/')))}"


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
