"""A real ZooKeeper server in a process of its own, on the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

from tests import pausing
from tests.places import CACHE, fetched
from tests.waiting import patience

JARS = CACHE / "zookeeper-3.9.3"

_PROPERTIES = """\
tickTime=200
minSessionTimeout=400
maxSessionTimeout=60000
dataDir={data}
clientPortAddress=127.0.0.1
clientPort={port}
admin.enableServer=false
4lw.commands.whitelist=ruok
"""


class ZooKeeperServer:
    """``start``, ``stop`` and ``pause`` as often as a test likes: port and data stay the same."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        properties = directory / "zoo.cfg"
        properties.write_text(_PROPERTIES.format(data=directory / "data", port=self.port))
        self._command = [
            f"{os.environ['JAVA_HOME']}/bin/java" if os.environ.get("JAVA_HOME") else "java",
            *("-cp", f"{JARS}/*", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("org.apache.zookeeper.server.ZooKeeperServerMain", str(properties)),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> ZooKeeperServer:
        fetched(JARS)
        log = self._directory / "zookeeper.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + patience(60)
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"ZooKeeper does not start: {log.read_text()[-3000:]}")
            time.sleep(0.1)
        return self

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False

    def pause(self) -> None:
        assert self._process is not None
        pausing.pause(self._process.pid)

    def resume(self) -> None:
        assert self._process is not None
        pausing.resume(self._process.pid)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(patience(20))
            self._process = None
