"""Connecting to a cluster, with one session per process."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.extras import extra

if TYPE_CHECKING:
    from cassandra.cluster import Cluster, Session
    from cassandra.query import PreparedStatement

_CONNECT_S: Final = 4.0
_RECONNECT_S: Final = 1.0  # the driver's own delay grows to ten minutes


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """A cluster at ``host`` and ``port``, or created by a user's function.

    :param build: the pickled function, which returns the driver's ``Cluster``.
    """

    host: str | None = None
    port: int = 9042
    build: bytes | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}" if self.build is None else "where its ClusterBuilder says"

    def cluster(self) -> Cluster:
        load_client()
        if self.build is not None:
            made: Cluster = pickle.loads(self.build)()
            return made
        from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
        from cassandra.policies import ConstantReconnectionPolicy, DCAwareRoundRobinPolicy, TokenAwarePolicy

        profile = ExecutionProfile(TokenAwarePolicy(DCAwareRoundRobinPolicy()))
        return Cluster(
            [self.host],
            self.port,
            connect_timeout=_CONNECT_S,
            reconnection_policy=ConstantReconnectionPolicy(_RECONNECT_S, None),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )


class Connection:
    """A session, which threads may share, and its prepared statements."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._prepared: dict[str, PreparedStatement] = {}

    def prepare(self, query: str) -> PreparedStatement:
        """:raises ConfigurationError: the cluster rejects the query."""
        found = self._prepared.get(query)
        if found is None:
            cassandra = load_client()
            try:
                found = self.session.prepare(query)
            except (cassandra.RequestValidationException, cassandra.protocol.SyntaxException) as error:
                raise ConfigurationError(
                    "Cassandra refuses a query.",
                    detail=f"{said(error)}; the query: {query}",
                    hint="correct it, or create what it names; tables are named with their keyspace",
                ) from error
            self._prepared[query] = found
        return found


_connections: dict[ClusterSettings, Connection] = {}
_lock = threading.Lock()
os.register_at_fork(after_in_child=_connections.clear)  # the threads of a session stay with the parent


def connection(settings: ClusterSettings) -> Connection:
    """Return the connection of this process. It is created once, as the driver recommends, and reconnects
    automatically.

    :raises ConnectorError: it cannot be created.
    """
    with _lock:
        found = _connections.get(settings)
        if found is None or found.session.is_shutdown:
            found = _connections[settings] = Connection(_connected(settings))
        return found


def _connected(settings: ClusterSettings) -> Session:
    cluster = None
    try:
        cluster = settings.cluster()
        return cluster.connect()
    except ConfigurationError:
        raise
    except Exception as error:
        if cluster is not None:
            cluster.shutdown()
        raise ConnectorError(
            f"No connection to Cassandra at {settings.address}.",
            detail=said(error),
            hint="check host, port, user and password, and that the server runs and lets this machine in",
        ) from error


def load_client() -> Any:
    """Import the module cassandra."""
    extra("cassandra.cluster", "Cassandra", "cassandra", "cassandra-driver")
    logger = logging.getLogger("cassandra")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)  # it logs each failure with its traceback, and also raises it
    return sys.modules["cassandra"]


def is_transient(error: BaseException | None) -> bool:
    """Return true if a retry may succeed."""
    cassandra = load_client()
    from cassandra.cluster import NoHostAvailable
    from cassandra.connection import ConnectionException

    kinds = (
        NoHostAvailable,
        ConnectionException,
        cassandra.OperationTimedOut,
        cassandra.Unavailable,
        cassandra.Timeout,
        cassandra.CoordinationFailure,
    )
    return isinstance(error, kinds) or (isinstance(error, ConnectorError) and is_transient(error.__cause__))


def said(error: BaseException) -> str:
    """Return the message of an error from the driver or the servers."""
    answers = getattr(error, "errors", None)
    if isinstance(answers, dict) and answers:
        return "; ".join(f"{server}: {answer}" for server, answer in answers.items())
    return getattr(error, "message", None) or str(error) or repr(error)
