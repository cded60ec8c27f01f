"""A real Cassandra node in a process of its own, on the loopback."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy

from firesteel.connectors.cassandra import client
from tests import pausing
from tests.places import CACHE, fetched, free_port
from tests.waiting import patience

JARS: Final = CACHE / "cassandra-5.0.5"
_PATIENCE_S: Final = 90

_CONFIGURATION = """\
cluster_name: firesteel
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "127.0.0.1:{internal}"}}]
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
storage_port: {internal}
native_transport_port: {port}
num_tokens: 1
auto_bootstrap: false
commitlog_sync: batch
disk_access_mode: standard
"""
_LOG = """\
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %-5level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
"""
_OPENED: Final = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "jdk.management/com.sun.management.internal",
)


class CassandraNode:
    """One node, which needs no login."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._output = directory / "output"
        self.port = free_port()
        text = _CONFIGURATION.format(port=self.port, internal=free_port())
        (directory / "cassandra.yaml").write_text(text)
        (directory / "logback.xml").write_text(_LOG)
        self._process: subprocess.Popen[bytes] | None = None
        self._session: Session | None = None

    def start(self) -> CassandraNode:
        fetched(JARS)
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command(), stdout=output, stderr=output, start_new_session=True
            )
        until = time.monotonic() + patience(_PATIENCE_S)
        while not self._is_up():
            assert self._process.poll() is None, self._output.read_text()[-3000:]
            assert time.monotonic() < until, self._output.read_text()[-3000:]
            time.sleep(0.3)
        return self

    def _command(self) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin/java") if home else "java"
        opened = [f"--add-{how}={what}=ALL-UNNAMED" for what in _OPENED for how in ("opens", "exports")]
        properties = {
            "cassandra.config": (self._directory / "cassandra.yaml").as_uri(),
            "cassandra.storagedir": self._directory / "data",
            "cassandra.skip_wait_for_gossip_to_settle": 0,
            "cassandra.ring_delay_ms": 0,
            "cassandra-foreground": "yes",
            "logback.configurationFile": self._directory / "logback.xml",
        }
        given = [f"-D{name}={value}" for name, value in properties.items()]
        agent = f"-javaagent:{next(JARS.glob('jamm-*.jar'))}"  # measures objects
        memory = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        daemon = "org.apache.cassandra.service.CassandraDaemon"
        return [java, *memory, *opened, agent, *given, "-cp", f"{JARS}/*", daemon]

    def _is_up(self) -> bool:
        try:
            self.run("SELECT key FROM system.local")
        except NoHostAvailable:
            return False
        return True

    def stop(self) -> None:
        """With the sessions of this process, which would go on looking for it."""
        for session in [self._session, *(c.session for c in client._connections.values())]:
            if session is not None:
                session.cluster.shutdown()
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """The node takes connections and answers nothing, until ``resume``."""
        assert self._process is not None
        pausing.pause(self._process.pid)

    def resume(self) -> None:
        assert self._process is not None
        pausing.resume(self._process.pid)

    # ---- what is in it

    def cluster(self) -> Cluster:
        """As a program's own ClusterBuilder makes it."""
        return cluster_at(self.port)

    def run(self, query: str, *parameters: Any) -> list[Any]:
        """The rows of a query, over a session that all tests share."""
        if self._session is None:
            self._session = self.cluster().connect()
        return list(self._session.execute(query, parameters))


def cluster_at(port: int, patience_s: float = 120.0) -> Cluster:
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=patience_s)
    return Cluster(
        ["127.0.0.1"],
        port,
        connect_timeout=60,
        reconnection_policy=ConstantReconnectionPolicy(0.3, None),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
    )
