"""Clusters of Cassandra and what is written to them, as programs describe them."""

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
    """How many replicas must answer, as in Flink."""

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
    """Options of the mapper that writes POJOs, of which a Python stream has none: see
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
    """How to reach a cluster where host and port do not say it: several hosts, a login, TLS, another
    consistency level (in Flink a class whose ``buildCluster`` is overridden).

    :param build_cluster: makes a ``cassandra.cluster.Cluster``; runs in the driver and in each worker.
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
    """Keeps a table of what the write-ahead log has written, as in Flink."""

    def __init__(self, options: LogOptions) -> None:
        self.options = options

    @staticmethod
    def default_checkpoint_committer(
        builder: ClusterBuilder, key_space: str | None = None
    ) -> CassandraCommitter:
        """The table is ``firesteel_commits`` in ``key_space``, by default ``flink_auxiliary``; both are made
        when they are not there, the keyspace with a replication factor of 1."""
        keyspace = FLINKS_KEYSPACE if key_space is None else key_space
        if not isinstance(keyspace, str) or not _KEYSPACE.fullmatch(keyspace):
            raise WrongArgumentError(
                "The name of a keyspace is a letter and up to 47 letters, digits and underscores.",
                detail=f"got {keyspace!r}",
            )
        return CassandraCommitter(LogOptions(settings_of(builder), keyspace))


class CassandraFailureHandler:
    """Decides what happens to a row that Cassandra rejects, as in Flink; derive from it to let the job
    continue."""

    def on_failure(self, failure: Exception) -> None:
        """Raise, and the job fails; return, and the row is passed over. Runs in the worker.

        :param failure: what the driver has raised.
        """
        raise failure

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """Every failure fails the job: the default."""
        return CassandraFailureHandler()


def settings_of(builder: ClusterBuilder) -> ClusterSettings:
    if not isinstance(builder, ClusterBuilder):
        raise WrongArgumentError(
            "Not a ClusterBuilder.",
            detail=f"got {builder!r}",
            hint="ClusterBuilder(lambda: Cluster([...])), of cassandra.cluster",
        )
    return builder.settings
