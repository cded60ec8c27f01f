"""High availability of a cluster: who leads, and where that is kept."""

from __future__ import annotations

from typing import Final

from firesteel.common.config_options import Bounds
from firesteel.common.options._declare import duration, text, word

TYPE: Final = word(
    "high-availability.type",
    "NONE",
    ("NONE", "directory", "zookeeper", "kubernetes"),
    "Where several dispatchers agree on who leads: in a `directory` that all of them share, in ZooKeeper or "
    "in Kubernetes. `NONE`: there is one dispatcher.",
    scope="process",
    older_names=(
        "high-availability",
        "recovery.mode",
    ),
)
STORAGE_DIR: Final = text(
    "high-availability.storageDir",
    None,
    "The directory, shared by all dispatchers, in which a cluster keeps its jobs. With `directory` the lease "
    "of the leader is there, too.",
    scope="process",
    older_names=(
        "high-availability.zookeeper.storageDir",
        "recovery.zookeeper.storageDir",
    ),
)
CLUSTER_ID: Final = text(
    "high-availability.cluster-id",
    "/default",
    "The name of the cluster. Dispatchers of the same name stand by for each other.",
    scope="process",
    older_names=(
        "high-availability.zookeeper.path.namespace",
        "recovery.zookeeper.path.namespace",
    ),
)
LEASE: Final = duration(
    "high-availability.lease-duration",
    15_000,
    "After this time without a sign of life of the leader another dispatcher takes over.",
    scope="process",
    bounds=Bounds(300, None),
    older_names=("high-availability.kubernetes.leader-election.lease-duration",),
)
ZOOKEEPER_QUORUM: Final = text(
    "high-availability.zookeeper.quorum",
    None,
    "The servers of ZooKeeper: `host:port`, with commas between them.",
    scope="process",
    older_names=("recovery.zookeeper.quorum",),
)
ZOOKEEPER_ROOT: Final = text(
    "high-availability.zookeeper.path.root",
    "/flink",
    "The node of ZooKeeper below which clusters are.",
    scope="process",
    older_names=("recovery.zookeeper.path.root",),
)
ZOOKEEPER_SESSION: Final = duration(
    "high-availability.zookeeper.client.session-timeout",
    60_000,
    "How long a connection to ZooKeeper may be silent, and a request to it may take; at most a third of the "
    "lease's duration is used.",
    scope="process",
    older_names=("recovery.zookeeper.client.session-timeout",),
)
KUBERNETES_NAMESPACE: Final = text(
    "kubernetes.namespace", "default", "The namespace in which the lease of the leader is.", scope="process"
)
