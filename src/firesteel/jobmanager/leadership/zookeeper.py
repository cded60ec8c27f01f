"""A lease as a node of ZooKeeper, replaced by its version. The client is kazoo.

Beside the lease the leader's address is written as Flink's clients look for it
(``leader/rest_server/connection_info``), so that ``flink list -z QUORUM`` finds the cluster.
"""

from __future__ import annotations

import logging
import struct
import uuid
from typing import Any

from firesteel.common.extras import extra
from firesteel.jobmanager.leadership.lease import Lease, LeaseUnavailableError, Version, decode, encode

__all__ = ["ZooKeeperLease", "flink_connection_info"]

_MISSING = -1  # the version of a node that is not there


class ZooKeeperLease:
    """The node ``ROOT/CLUSTER/firesteel/leader``.

    :param quorum: ``host:port`` pairs with commas between them.
    :param root: such as ``/flink``. :param cluster_id: such as ``/default``.
    :param session_timeout_s: of the connection; how long a request may take, too.
    """

    def __init__(self, quorum: str, root: str, cluster_id: str, session_timeout_s: float) -> None:
        client = extra("kazoo.client", "High availability with ZooKeeper", "zookeeper")
        self._errors: Any = extra("kazoo.exceptions", "High availability with ZooKeeper", "zookeeper")
        self._handlers: Any = extra(
            "kazoo.handlers.threading", "High availability with ZooKeeper", "zookeeper"
        )
        logging.getLogger("kazoo").setLevel(logging.ERROR)  # it warns of each lost connection, and so do we
        base = "/".join(["", *filter(None, f"{root}/{cluster_id}".split("/"))])
        self._path = f"{base}/firesteel/leader"
        self._flink_path = f"{base}/leader/rest_server/connection_info"
        self._timeout_s = session_timeout_s
        self._quorum = quorum
        self._client = client.KazooClient(hosts=quorum, timeout=session_timeout_s)
        self._connecting = False

    def read(self) -> tuple[Lease | None, Version]:
        found = self._call("get", self._path, missing=True)
        if found is None:
            return None, _MISSING
        data, status = found
        return decode(data, f"the node {self._path}"), status.version

    def replace(self, lease: Lease, version: Version) -> bool:
        try:
            if version == _MISSING:
                self._call("create", self._path, encode(lease), makepath=True)
            else:
                self._call("set", self._path, encode(lease), version=version)
        except (self._errors.NodeExistsError, self._errors.BadVersionError, self._errors.NoNodeError):
            return False
        if lease.holder and lease.renewals == 0:
            self._tell_flink(lease.address)
        return True

    def close(self) -> None:
        if self._connecting:
            self._client.stop()
            self._client.close()

    def _tell_flink(self, address: str) -> None:
        data = flink_connection_info(address, uuid.uuid4())
        try:
            self._call("ensure_path", self._flink_path)
            self._call("set", self._flink_path, data)
        except self._errors.NoNodeError:
            return  # another leader is at it

    def _call(self, name: str, *arguments: Any, missing: bool = False, **more: Any) -> Any:
        try:
            self._connect()
            return getattr(self._client, f"{name}_async")(*arguments, **more).get(timeout=self._timeout_s)
        except self._errors.NoNodeError:
            if missing:
                return None
            raise
        except (
            self._errors.ConnectionLoss,
            self._errors.SessionExpiredError,
            self._errors.ConnectionClosedError,
            self._errors.OperationTimeoutError,
            self._handlers.KazooTimeoutError,
        ) as error:
            raise LeaseUnavailableError(
                f"ZooKeeper at {self._quorum} does not answer.", detail=repr(error)
            ) from error
        except (self._errors.AuthFailedError, self._errors.NoAuthError) as error:
            raise LeaseUnavailableError(
                f"ZooKeeper at {self._quorum} refuses access to {self._path}.", detail=repr(error)
            ) from error

    def _connect(self) -> None:
        if not self._connecting:
            self._connected = self._client.start_async()
            self._connecting = True
        if not self._client.connected:
            self._connected.wait(self._timeout_s)
        if not self._client.connected:
            raise self._handlers.KazooTimeoutError(f"no connection within {self._timeout_s} s")


def flink_connection_info(address: str, session: uuid.UUID) -> bytes:
    """Return what Flink's ``ZooKeeperLeaderElectionDriver`` writes: a Java object stream with the address as
    text written by ``writeUTF`` and the session's id as a ``java.util.UUID`` object."""
    text = address.encode()
    block = struct.pack(">H", len(text)) + text
    stream = b"\xac\xed\x00\x05"  # magic and version of an object stream
    stream += b"\x77" + struct.pack(">B", len(block)) + block  # block data
    name = b"java.util.UUID"
    stream += b"\x73\x72" + struct.pack(">H", len(name)) + name
    stream += struct.pack(">q", -4856846361193249489)  # serialVersionUID
    stream += b"\x02" + struct.pack(">H", 2)  # serialisable, two fields, in the order of their names
    for field in (b"leastSigBits", b"mostSigBits"):
        stream += b"J" + struct.pack(">H", len(field)) + field
    stream += b"\x78\x70"  # no annotations, no superclass
    low, high = session.int & (1 << 64) - 1, session.int >> 64
    return stream + struct.pack(">QQ", low, high)
