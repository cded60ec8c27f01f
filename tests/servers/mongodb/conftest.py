"""mongo-java-server in a process of its own, on the loopback. It is started by Py4J, as
its ``main`` knows one port only."""

from __future__ import annotations

import glob
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pymongo
import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway

from tests.jvms import leave
from tests.places import CACHE, fetched
from tests.servers.fixtures import platform

__all__ = ["collection", "platform", "uri"]

JARS = CACHE / "mongo-java-server-1.47.0"


@pytest.fixture(scope="package")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    fetched(JARS)
    (py4j,) = glob.glob(f"{Path(pyspark.__file__).parent}/jars/py4j-*.jar")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*:{py4j}"]
    with (tmp_path_factory.mktemp("mongodb") / "output").open("wb") as output:
        process = subprocess.Popen(
            [java, *options, "py4j.GatewayServer", "--die-on-broken-pipe", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        port = process.stdout.readline()
        assert port, f"mongo-java-server does not start: see {output.name}"
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=int(port)))
        mongo = gateway.jvm.de.bwaldvogel.mongo
        backend = mongo.backend.memory.MemoryBackend()
        backend.version(mongo.ServerVersion.MONGO_5_0)
        server = mongo.MongoServer(backend)
        yield f"mongodb://127.0.0.1:{server.bind().getPort()}"
        leave(gateway)
        process.kill()
        process.wait()


@pytest.fixture
def collection(uri: str, request: pytest.FixtureRequest) -> Iterator[pymongo.collection.Collection]:
    """A collection of the test's own."""
    with pymongo.MongoClient(uri) as client:
        yield client["tests"][request.node.name]
