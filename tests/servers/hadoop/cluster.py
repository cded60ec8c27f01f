"""A real HDFS: Hadoop's mini cluster in a JVM of its own, on the loopback.

The JVM has a gateway of py4j, so that no Java has to be compiled: a JRE is enough.
"""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway

from firesteel.spark.java import find_java
from tests.jvms import QUICK
from tests.places import CACHE

JARS: Final = CACHE / "hadoop-3.5.0"
_HDFS_SETTINGS: Final = {
    "dfs.replication": "1",
    "dfs.datanode.synconclose": "false",
    "dfs.namenode.safemode.min.datanodes": "0",
    "hadoop.http.staticuser.user": "nobody",
}


class Hadoop:
    """:param directory: data and logs are in it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.uri = ""
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._jvm: Any = None
        self._configuration: Any = None
        self._dfs: Any = None

    def start(self) -> Hadoop:
        """Start the JVM and HDFS: a name node and a data node."""
        assert (JARS / ".complete").exists(), f"there is no Hadoop in {JARS}: run scripts/test-servers"
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

    def _set(self, settings: dict[str, str]) -> None:
        for key, value in settings.items():
            self._configuration.set(key, value)

    @property
    def log(self) -> Path:
        return self._directory / "hadoop.log"

    def place(self) -> str:
        """The URI of a directory that no other test has."""
        return f"{self.uri}/place-{next(self._numbers)}"

    def stop(self) -> None:
        if self._process is None:
            return
        self._gateway.close()
        self._process.kill()
        self._process.wait(30)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
