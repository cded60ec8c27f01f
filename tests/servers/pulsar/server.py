"""A real standalone Pulsar, broker and storage in a process of its own, on the loopback."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pulsar

from firesteel.common.errors import ConnectorError
from firesteel.connectors.pulsar.client import Admin, PulsarSettings, client
from tests.places import CACHE, fetched, free_port
from tests.waiting import patience

JARS: Final = CACHE / "pulsar-3.0.7"
_PATIENCE_S: Final = 120
_CONFIGURATION: Final = """\
clusterName=standalone
brokerServicePort={broker}
webServicePort={admin}
bindAddress=127.0.0.1
advertisedAddress=127.0.0.1
allowLoopback=true
allowAutoTopicCreation=false
loadBalancerEnabled=false
managedLedgerDefaultEnsembleSize=1
managedLedgerDefaultWriteQuorum=1
managedLedgerDefaultAckQuorum=1
numIOThreads=2
numHttpServerThreads=6
dbStorage_writeCacheMaxSizeMb=16
dbStorage_readAheadCacheMaxSizeMb=16
dbStorage_rocksDB_blockCacheSize=8388608
journalMaxSizeMB=64
diskUsageThreshold=0.999
diskUsageWarnThreshold=0.99
"""
_LOG: Final = "status = warn\nrootLogger.level = warn\n"
_OPENED: Final = (
    "java.base/java.lang",
    "java.base/java.nio",
    "java.base/java.util.zip",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.base/sun.net",
    "java.management/sun.management",
)


class PulsarServer:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._output = directory / "output"
        broker, admin = free_port(), free_port()
        self.settings = PulsarSettings(f"pulsar://127.0.0.1:{broker}", f"http://127.0.0.1:{admin}")
        self.admin = Admin(self.settings)
        text = _CONFIGURATION.format(broker=broker, admin=admin)
        (directory / "standalone.conf").write_text(text)
        (directory / "log4j2.properties").write_text(_LOG)
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()

    def start(self) -> PulsarServer:
        fetched(JARS)
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command(), cwd=self._directory, stdout=output, stderr=output, start_new_session=True
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
        opened = [f"--add-opens={what}=ALL-UNNAMED" for what in _OPENED]
        memory = ["-Xmx384m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        given = ["-Dio.netty.tryReflectionSetAccessible=true"]
        given.append(f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}")
        jars = ":".join([f"{JARS}/*", *map(str, JARS.glob("*.nar"))])
        options = ["--config", "standalone.conf", "--no-functions-worker", "--no-stream-storage"]
        options += ["--bookkeeper-dir", str(self._directory / "storage"), "--num-bookies", "1"]
        options += ["--metadata-dir", str(self._directory / "metadata")]
        starter = "org.apache.pulsar.PulsarStandaloneStarter"
        return [java, *memory, *opened, *given, "-cp", jars, starter, *options]

    def _is_up(self) -> bool:
        """The namespace of all topics is the last thing that is made."""
        try:
            self.call("PUT", "persistent/public/default/probe")
            return "persistent://public/default/probe" in self.admin.topics("public/default")
        except (OSError, ConnectorError):
            return False

    def stop(self) -> None:
        with contextlib.suppress(pulsar.PulsarException):
            client(self.settings).close()
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    # ---- what is in it

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        url = f"{self.settings.admin_url}/admin/v2/{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=patience(30)) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def topic(self, partitions: int = 0) -> str:
        """The name of a new topic, which keeps all that it gets; 0 partitions: it has none."""
        name = f"topic-{next(self._numbers)}"
        path = f"persistent/public/default/{name}"
        if partitions:
            self.call("PUT", f"{path}/partitions", partitions)
        else:
            self.call("PUT", path)
        for partition in self.admin.partitions(f"persistent://public/default/{name}"):
            self.admin.subscribe(partition, "keeps")
        return name

    def add_partitions(self, topic: str, count: int) -> None:
        """Until there are ``count``. The broker refuses while a job's reader moves a cursor of the topic."""
        path = f"persistent/public/default/{topic}/partitions"
        deadline = time.monotonic() + patience(30)
        while self.call("GET", path)["partitions"] < count:
            try:
                self.call("POST", path, count)
            except urllib.error.HTTPError as error:
                if error.code != 412 or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def produce(self, topic: str, values: Iterable[str], **options: Any) -> None:
        """In batches of up to seven; ``options``: of ``send_async``."""
        producer = client(self.settings).create_producer(
            f"persistent://public/default/{topic}",
            batching_enabled=True,
            batching_max_messages=7,
            batching_max_publish_delay_ms=1000,
        )
        for value in values:
            producer.send_async(value.encode(), lambda *_: None, **options)
        producer.flush()
        producer.close()

    def messages(self, topic: str) -> list[pulsar.Message]:
        """All of them, partition by partition."""
        found = []
        for partition in self.admin.partitions(f"persistent://public/default/{topic}"):
            reader = client(self.settings).create_reader(partition, pulsar.MessageId.earliest)
            while reader.has_message_available():
                found.append(reader.read_next(5000))
            reader.close()
        return found

    def values(self, topic: str) -> list[str]:
        return [message.data().decode() for message in self.messages(topic)]

    def backlog(self, partition: str, subscription: str) -> int:
        """How many entries Pulsar keeps for a subscription."""
        path = f"persistent/public/default/{partition}"
        found = self.call("GET", f"{path}/stats?getPreciseBacklog=true")["subscriptions"]
        return int(found[subscription]["msgBacklog"])
