"""From a configuration to the place of its lease."""

from __future__ import annotations

import re
import socket
import uuid
from collections.abc import Callable
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import high_availability as ha
from firesteel.jobmanager.leadership.directory import DirectoryLease
from firesteel.jobmanager.leadership.election import Candidate, Election
from firesteel.jobmanager.leadership.kubernetes import KubernetesLease
from firesteel.jobmanager.leadership.lease import LeaseStore
from firesteel.jobmanager.leadership.zookeeper import ZooKeeperLease

__all__ = ["election_of", "store_of"]

_REMOTE = re.compile(r"^(?!file:)[A-Za-z][A-Za-z0-9+.-]+://")


def election_of(
    configuration: Configuration,
    address: str,
    granted: Callable[[int], None],
    revoked: Callable[[], None],
) -> Election | None:
    """Return the election that *configuration* asks for; None: there is one dispatcher, which leads.

    :param address: where clients reach this dispatcher.
    :raises ConfigurationError: an option is missing or does not fit the others.
    """
    store = store_of(configuration)
    if store is None:
        return None
    holder = f"{socket.gethostname()}-{uuid.uuid4().hex}"
    return Election(Candidate(store, holder, address, _lease_s(configuration)), granted, revoked)


def store_of(configuration: Configuration) -> LeaseStore | None:
    """Return where the lease is kept; None: there is none."""
    kind = configuration.get(ha.TYPE)
    if kind == "NONE":
        return None
    _require(configuration.get(ha.STORAGE_DIR), ha.STORAGE_DIR.key, kind)
    return _STORES[kind](configuration)


def _directory(configuration: Configuration) -> LeaseStore:
    directory = _require(configuration.get(ha.STORAGE_DIR), ha.STORAGE_DIR.key, "directory")
    if _REMOTE.match(directory):
        raise ConfigurationError(
            "A lease in a directory needs a file system with locks.",
            detail=f"{ha.STORAGE_DIR.key} is {directory}",
            hint=f"set {ha.TYPE.key} to zookeeper or kubernetes",
        )
    path = directory.removeprefix("file://").rstrip("/")
    return DirectoryLease(f"{path}/{configuration.get(ha.CLUSTER_ID).strip('/')}")


def _zookeeper(configuration: Configuration) -> LeaseStore:
    quorum = _require(configuration.get(ha.ZOOKEEPER_QUORUM), ha.ZOOKEEPER_QUORUM.key, "zookeeper")
    timeout_s = min(configuration.get(ha.ZOOKEEPER_SESSION) / 1000, _lease_s(configuration) / 3)
    root, cluster = configuration.get(ha.ZOOKEEPER_ROOT), configuration.get(ha.CLUSTER_ID)
    return ZooKeeperLease(quorum, root, cluster, timeout_s)


def _kubernetes(configuration: Configuration) -> LeaseStore:
    name = configuration.get(ha.CLUSTER_ID).strip("/").lower()
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name):
        raise ConfigurationError(
            "The name of the cluster cannot be that of an object of Kubernetes.",
            detail=f"{ha.CLUSTER_ID.key} is {configuration.get(ha.CLUSTER_ID)!r}",
            hint="use letters, digits, dots and dashes",
        )
    duration_s = _lease_s(configuration)
    namespace = configuration.get(ha.KUBERNETES_NAMESPACE)
    return KubernetesLease(f"{name}-leader", namespace, duration_s, timeout_s=duration_s / 3)


_STORES: Final[dict[str, Callable[[Configuration], LeaseStore]]] = {
    "directory": _directory,
    "zookeeper": _zookeeper,
    "kubernetes": _kubernetes,
}


def _lease_s(configuration: Configuration) -> float:
    return configuration.get(ha.LEASE) / 1000


def _require(value: str | None, key: str, kind: str) -> str:
    if not value:
        raise ConfigurationError(f"High availability with {kind} needs {key}.", hint=f"-D {key}=...")
    return value
