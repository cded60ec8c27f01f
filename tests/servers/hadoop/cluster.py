"""A real HDFS, and a real YARN on it: Hadoop's mini cluster in a JVM of its own, on the loopback.

The JVM has a gateway of py4j, so that no Java has to be compiled: a JRE is enough.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway

from firesteel.spark.java import find_java
from tests.jvms import QUICK, leave
from tests.places import CACHE, fetched
from tests.waiting import patience

JARS: Final = CACHE / "hadoop-3.5.0"
_HDFS_SETTINGS: Final = {
    "dfs.replication": "1",
    "dfs.datanode.synconclose": "false",
    "dfs.namenode.safemode.min.datanodes": "0",
    "hadoop.http.staticuser.user": "nobody",
}
#: What Spark's own tests set, for the jar has no capacity-scheduler.xml; and room for what tests start.
_YARN_SETTINGS: Final = {
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100.0",
    "yarn.nodemanager.disk-health-checker.enable": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.delete.debug-delay-sec": "600",
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
    "yarn.scheduler.minimum-allocation-mb": "128",
    "yarn.minicluster.yarn.nodemanager.resource.memory-mb": "8192",
    "yarn.nodemanager.resource.memory-mb": "8192",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.root.default.user-limit-factor": "1",
    "yarn.scheduler.capacity.root.default.maximum-capacity": "100",
    "yarn.scheduler.capacity.root.default.state": "RUNNING",
    "yarn.scheduler.capacity.root.default.acl_submit_applications": "*",
    "yarn.scheduler.capacity.root.default.acl_administer_queue": "*",
    "yarn.scheduler.capacity.node-locality-delay": "-1",
}
_FOR_CLIENTS: Final = (
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.webapp.address",
)


class Hadoop:
    """:param directory: data, logs and Hadoop's settings for clients are in it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.settings = directory / "conf"
        self.uri = ""
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._jvm: Any = None
        self._configuration: Any = None
        self._dfs: Any = None
        self._yarn: Any = None

    def start(self) -> Hadoop:
        """Start the JVM and HDFS: a name node and a data node."""
        fetched(JARS)
        self.settings.mkdir()
        (py4j,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
        command = [
            *(f"{find_java()}/bin/java", "-cp", f"{py4j}:{JARS}/*", "-Xmx512m", *QUICK.split()),
            *("--add-opens=java.base/java.lang=ALL-UNNAMED", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"),
            *("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"),
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=self._directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        port, secret = (self._process.stdout.readline().decode().strip() for _ in range(2))
        parameters = GatewayParameters(port=int(port), auth_token=secret, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=parameters)
        self._jvm = self._gateway.jvm
        self._configuration = self._jvm.org.apache.hadoop.conf.Configuration()
        self._set(_HDFS_SETTINGS)
        place = self._jvm.java.io.File(str(self._directory / "dfs"))
        builder = self._jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(self._configuration, place)
        self._dfs = builder.numDataNodes(1).build()
        self._dfs.waitActive()
        self.uri = str(self._dfs.getURI().toString()).rstrip("/")
        return self

    def start_yarn(self) -> None:
        """Start YARN, too: a resource manager and a node manager. ``settings`` are for its clients, then."""
        server = self._jvm.org.apache.hadoop.yarn.server
        self._set(_YARN_SETTINGS)
        self._yarn = server.MiniYARNCluster("yarn", 1, 1, 1)
        self._yarn.init(self._jvm.org.apache.hadoop.yarn.conf.YarnConfiguration(self._configuration))
        self._yarn.start()
        assert self._yarn.waitForNodeManagersToConnect(30_000), self.log.read_text()[-3000:]
        running = self._yarn.getConfig()
        self._write("core-site", {"fs.defaultFS": self.uri})
        self._write("yarn-site", {key: str(running.get(key)) for key in _FOR_CLIENTS})

    def _write(self, name: str, settings: dict[str, str]) -> None:
        entries = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items())
        text = "\n".join(["<configuration>", *entries, "</configuration>"])
        (self.settings / f"{name}.xml").write_text(text)

    def _set(self, settings: dict[str, str]) -> None:
        for key, value in settings.items():
            self._configuration.set(key, value)

    @property
    def log(self) -> Path:
        return self._directory / "hadoop.log"

    @property
    def containers(self) -> Path:
        """What YARN's containers print is below it: APPLICATION/CONTAINER/stderr."""
        (found,) = self._directory.glob("target/test/data/yarn/*/yarn-logDir-nm-0_0")
        return found

    def place(self) -> str:
        """The URI of a directory that no other test has."""
        return f"{self.uri}/place-{next(self._numbers)}"

    @property
    def pid(self) -> int:
        """Of the process that has the name node and the data node in it."""
        assert self._process is not None
        return self._process.pid

    @contextmanager
    def without_name_node(self) -> Iterator[None]:
        """The data node stays. What the name node knows is on its disk, and is there again afterwards."""
        self._dfs.shutdownNameNode(0)
        try:
            yield
        finally:
            self._dfs.restartNameNode(0)

    def stop(self) -> None:
        if self._process is None:
            return
        if self._yarn is not None:
            self._yarn.stop()  # it ends its containers
        leave(self._gateway)
        self._process.kill()
        self._process.wait(patience(30))
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def environment(hadoop: Hadoop) -> dict[str, str]:
    """What a program has in its environment that is to run on YARN."""
    return {"HADOOP_CONF_DIR": str(hadoop.settings), "JAVA_HOME": find_java(), **os.environ}
