"""Servers of Elasticsearch and OpenSearch in processes of their own, on the loopback."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.places import CACHE, fetched, free_port
from tests.waiting import patience

JARS = CACHE / "elasticsearch"
_PATIENCE_S = 60

_CONFIG = """\
discovery.type: single-node
transport.port: {transport}
network.host: 127.0.0.1
cluster.routing.allocation.disk.threshold_enabled: false
"""
_LOG = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%p][%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
# The module through which Elasticsearch speaks HTTP, as its distribution describes it.
_MODULE = """\
name=transport-netty4
description=HTTP
version={version}
elasticsearch.version={version}
java.version=1.8
classname=org.elasticsearch.transport.Netty4Plugin
"""
_PERMISSIONS = """\
grant {
  permission java.io.FilePermission "/proc/sys/net/core/somaxconn", "read";
  permission java.lang.RuntimePermission "setContextClassLoader";
  permission java.net.SocketPermission "*", "accept,connect";
  permission java.util.PropertyPermission "sun.nio.ch.bugLevel", "write";
};
"""


class SearchServer:
    """One node. ``kind``: ``elasticsearch`` or ``opensearch``."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.address = ""
        self._directory = directory
        self._output = directory / "output"
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("config", "plugins", "tmp"):
            (directory / name).mkdir()
        config = _CONFIG.format(transport=free_port())
        if kind == "elasticsearch":
            self.address = f"127.0.0.1:{free_port()}"
            config += f"http.port: {self.address.rpartition(':')[2]}\n"
        (directory / f"config/{kind}.yml").write_text(config)
        (directory / "config/log4j2.properties").write_text(_LOG)

    def launch(self) -> None:
        """Begin to start: ``wait`` until it serves."""
        fetched(JARS)
        command = self._elasticsearch() if self.kind == "elasticsearch" else self._opensearch()
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                env=os.environ | {"LIBFFI_TMPDIR": str(self._directory / "tmp")},
                start_new_session=True,
            )

    def wait(self) -> SearchServer:
        assert self._process is not None
        until = time.monotonic() + patience(_PATIENCE_S)
        while not self._is_up():
            assert self._process.poll() is None, self._output.read_text()[-3000:]
            assert time.monotonic() < until, self._output.read_text()[-3000:]
            time.sleep(0.1)
        return self

    def _java(self, *jars: str) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        return [
            str(Path(home, "bin", "java")) if home else "java",
            *("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            f"-Djava.io.tmpdir={self._directory / 'tmp'}",
            "-Dlog4j2.disable.jmx=true",
            # Without the native library the server does not see who runs it, and refuses nobody.
            *("-Djna.nosys=true", "-Djna.nounpack=true", "-Djna.noclasspath=true"),
            *("-cp", ":".join(jars)),
        ]

    def _elasticsearch(self) -> list[str]:
        home = self._directory
        module = home / "modules/transport-netty4"
        shutil.copytree(JARS / "elasticsearch-netty4", module)
        (jar,) = (JARS / "elasticsearch").glob("elasticsearch-[0-9]*.jar")
        version = jar.stem.rpartition("-")[2]
        (module / "plugin-descriptor.properties").write_text(_MODULE.format(version=version))
        (module / "plugin-security.policy").write_text(_PERMISSIONS)
        options = [f"-Des.path.home={home}", f"-Des.path.conf={home}/config", "-Djava.security.manager=allow"]
        return [*self._java(f"{JARS}/elasticsearch/*"), *options, "org.elasticsearch.bootstrap.Elasticsearch"]

    def _opensearch(self) -> list[str]:
        options = {"-basePath": self._directory, "-confPath": self._directory / "config", "-numOfNode": 1}
        options["-moduleTypes"] = "org.opensearch.transport.Netty4Plugin"
        runner = "org.codelibs.opensearch.runner.OpenSearchRunner"
        return [
            *self._java(f"{JARS}/opensearch/*"),
            runner,
            *(str(o) for pair in options.items() for o in pair),
        ]

    def _is_up(self) -> bool:
        if not self.address:  # the runner takes the first port that is free
            port = re.search(r"HTTP Port: +(\d+)", self._output.read_text())
            if port is None:
                return False
            self.address = f"127.0.0.1:{port[1]}"
        try:
            health = self.ask("GET", "/_cluster/health")
        except (OSError, urllib.error.HTTPError):
            return False
        return bool(health["status"] == "green")

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    # ---- what is in it

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.address}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=patience(20)) as answer:
            return json.load(answer)

    def documents(self, index: str) -> dict[str, Any]:
        """What a search finds in the index, by the ids; nothing where there is no index."""
        if index not in self.ask("GET", "/_all"):
            return {}
        self.ask("POST", f"/{index}/_refresh")
        found = self.ask("POST", f"/{index}/_search", {"size": 10_000})["hits"]["hits"]
        return {hit["_id"]: hit["_source"] for hit in found}

    def settings(self, index: str, **settings: Any) -> None:
        self.ask("PUT", f"/{index}/_settings", {key.replace("__", "."): v for key, v in settings.items()})
