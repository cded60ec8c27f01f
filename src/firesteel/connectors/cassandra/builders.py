"""Builder of the Cassandra sink, and its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, Self

import cloudpickle

from firesteel.common.logs import logger
from firesteel.connectors.cassandra.client import ClusterSettings
from firesteel.connectors.cassandra.log import FLINKS_KEYSPACE, LogOptions
from firesteel.program.checks import WrongArgumentError, require_int

if TYPE_CHECKING:
    from cassandra.cluster import Cluster

log = logger(__name__)

_KEYSPACE: Final = re.compile(r"[A-Za-z]\w{0,47}")


class ConsistencyLevel(Enum):
    """How many replicas must acknowledge (Flink: ``ConsistencyLevel``)."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class MapperOptions:
    """Options of Java's POJO mapper, which has no counterpart for a Python stream: see
    ``CassandraSinkBuilder.set_mapper_options``."""

    def __init__(self) -> None:
        self._options: dict[str, object] = {}

    def ttl(self, ttl: int) -> Self:
        """Seconds."""
        return self._set("ttl", require_int(ttl, "ttl", 0, None, "MapperOptions"))

    def timestamp(self, timestamp: int) -> Self:
        """Microseconds."""
        return self._set("timestamp", require_int(timestamp, "timestamp", 0, None, "MapperOptions"))

    def consistency_level(self, cl: ConsistencyLevel) -> Self:
        if not isinstance(cl, ConsistencyLevel):
            raise WrongArgumentError("Not a ConsistencyLevel.", detail=f"got {cl!r}")
        return self._set("consistency_level", cl.name)

    def tracing(self, enabled: bool) -> Self:
        return self._set("tracing", bool(enabled))

    def save_null_fields(self, enabled: bool) -> Self:
        return self._set("save_null_fields", bool(enabled))

    def if_not_exists(self, enabled: bool) -> Self:
        return self._set("if_not_exists", bool(enabled))

    def _set(self, name: str, value: object) -> Self:
        self._options[name] = value
        return self


class ClusterBuilder:
    """Builds the connection to a cluster if host and port are not enough: several hosts, a login, TLS,
    another consistency level (Flink: ``ClusterBuilder``, with ``buildCluster`` to override).

    :param build_cluster: creates a ``cassandra.cluster.Cluster``; runs on the driver and in each worker.
    """

    def __init__(self, build_cluster: Callable[[], Cluster]) -> None:
        if not callable(build_cluster):
            raise WrongArgumentError(
                "A ClusterBuilder needs a function that makes a cluster.",
                detail=f"got {build_cluster!r}",
                hint='ClusterBuilder(lambda: Cluster(["host"], auth_provider=...)), of cassandra.cluster',
            )
        self.settings = ClusterSettings(build=cloudpickle.dumps(build_cluster, protocol=5))


class CassandraCommitter:
    """Keeps a table of what the write-ahead log has written (Flink: ``CassandraCommitter``)."""

    def __init__(self, options: LogOptions) -> None:
        self.options = options

    @staticmethod
    def default_checkpoint_committer(
        builder: ClusterBuilder, key_space: str | None = None
    ) -> CassandraCommitter:
        """Use the table ``firesteel_commits`` in ``key_space``, by default ``flink_auxiliary``. Both are
        created if they do not exist, the keyspace with a replication factor of 1."""
        keyspace = FLINKS_KEYSPACE if key_space is None else key_space
        if not isinstance(keyspace, str) or not _KEYSPACE.fullmatch(keyspace):
            raise WrongArgumentError(
                "The name of a keyspace is a letter and up to 47 letters, digits and underscores.",
                detail=f"got {keyspace!r}",
            )
        return CassandraCommitter(LogOptions(settings_of(builder), keyspace))


class CassandraFailureHandler:
    """Decides what happens to a row that Cassandra rejects; derive from it to let the job continue. (Flink:
    ``CassandraFailureHandler``.)"""

    def on_failure(self, failure: Exception) -> None:
        """Raise to fail the job, or return to ignore the row. Runs in the worker.

        :param failure: the exception of the driver.
        """
        raise failure

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """Fail the job on every failure; the default."""
        return CassandraFailureHandler()


def settings_of(builder: ClusterBuilder) -> ClusterSettings:
    if not isinstance(builder, ClusterBuilder):
        raise WrongArgumentError(
            "Not a ClusterBuilder.",
            detail=f"got {builder!r}",
            hint="ClusterBuilder(lambda: Cluster([...])), of cassandra.cluster",
        )
    return builder.settings
