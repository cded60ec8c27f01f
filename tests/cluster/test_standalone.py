"""The recipes of docs/deployment.md on a real standalone Spark: a session cluster, and ``spark-submit``."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from firesteel.cluster.client import RequestRefusedError
from tests import waiting
from tests.cluster.spark_cluster import SparkCluster
from tests.cluster.support import environment, until
from tests.jvms import quick_spark
from tests.spark.standalone import SMALL, SPARK_HOME, StandaloneSpark
from tests.spark.support import firesteel
from tests.waiting import patience

pytestmark = pytest.mark.spark

TALKS = """
def say(value):
    if value % 50 == 0:
        print(f"tick {value} \\u00e9")
    return value
endless().map(say).print()
env.execute("talks")
"""
# Two jobs. With --fail the first driver ends before them.
PROGRAM = """
import json, os, sys
from pathlib import Path
from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
place = Path(sys.argv[1])
if "--fail" in sys.argv and not (place / "failed").exists():
    (place / "failed").touch()
    sys.exit(3)
settings = {"firesteel.state.dir": str(place / "state")}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
env.set_parallelism(1)
numbers = env.from_collection(range(10)).key_by(lambda v: v % 2).map(lambda v: v * 10)
first, second = (sorted(numbers.execute_and_collect(name)) for name in ("first", "second"))
found = {"values": first, "again": second, "directory": os.getcwd(), "words": sys.argv[2:]}
(place / "coming").write_text(json.dumps(found))
(place / "coming").rename(place / "found")
"""


@pytest.fixture(scope="module")
def cluster(spark: StandaloneSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    directory = tmp_path_factory.mktemp("session")
    settings = {**SMALL, "firesteel.state.dir": str(directory / "state")}
    found = SparkCluster(directory, spark.url, **settings).start()
    yield found
    found.ours("stop")


@pytest.fixture(scope="module")
def talking(cluster: SparkCluster) -> str:
    """The id of a job that prints, as long as the tests take."""
    (job,) = cluster.submit(TALKS)
    cluster.await_epoch(job)
    return job


@pytest.fixture(scope="module")
def executor(cluster: SparkCluster, talking: str) -> str:
    (found,) = cluster.client.get("/v1/taskmanagers")["taskmanagers"]
    return str(found["id"])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def conf() -> list[str]:
    return [word for key, value in SMALL.items() for word in ("--conf", f"{key}={value}")]


@contextmanager
def logs(cluster: SparkCluster, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = firesteel("logs", "-m", cluster.address, *words)
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        try:
            yield process
        finally:
            process.kill()


def log_of(spark: StandaloneSpark) -> Path:
    """What the executor of the application that came last writes; they are numbered."""
    return spark.work / max(apps(spark)) / "0" / "stderr"


@pytest.mark.row("S-DEPLOY-11")
def test_the_executors_are_the_task_managers(
    cluster: SparkCluster, spark: StandaloneSpark, executor: str
) -> None:
    running = spark.executors()
    assert len(running) == cluster.client.get("/v1/overview")["taskmanagers"] == 1
    assert running[0].pid != cluster.dispatcher.pid


def test_the_logs_of_an_executor(cluster: SparkCluster, spark: StandaloneSpark, executor: str) -> None:
    place = f"/v1/taskmanagers/{executor}"
    until(lambda: b"tick 0 \xc3\xa9\n" in cluster.client.content(f"{place}/log"))
    file = log_of(spark)
    log = cluster.client.content(f"{place}/log")
    assert file.read_bytes().startswith(log)
    assert {entry["name"] for entry in cluster.client.get(f"{place}/logs")["logs"]} == {"stderr", "stdout"}
    assert cluster.client.content(f"{place}/stdout") == file.with_name("stdout").read_bytes()
    assert cluster.client.content(f"{place}/logs/stderr", offset=100).startswith(log[100:])
    shown = cluster.client.content(f"{place}/logs/stderr", tail=20)
    assert len(shown) == 20
    assert shown in file.read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2f..%2fmaster.log",
        "%2fetc%2fpasswd",
        "../../../jobmanager/logs",
        "stderr%00",
        "stderr%2f..",
        "config",
    ],
)
def test_nothing_but_its_logs_is_shown(cluster: SparkCluster, executor: str, name: str) -> None:
    with pytest.raises(RequestRefusedError) as refused:
        cluster.client.content(f"/v1/taskmanagers/{executor}/logs/{name}")
    assert refused.value.status == 404


def test_the_log_of_an_executor_is_followed(
    cluster: SparkCluster, spark: StandaloneSpark, executor: str
) -> None:
    before = log_of(spark).stat().st_size
    seen = b""
    with logs(cluster, "-f", "-n", "0", "--executor", executor[:-3]) as process:
        assert process.stdout is not None
        while seen.count(b"tick ") < 6:
            seen += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        seen += process.stdout.read()  # not communicate(), which passes over what readline() has read ahead
    assert process.wait(timeout=patience(30)) == 130
    # Not line by line: what Spark itself logs may stand within a line that a worker prints.
    assert seen in log_of(spark).read_bytes()[before:]


def test_an_executor_that_is_not_there(cluster: SparkCluster, executor: str) -> None:
    with logs(cluster, "--executor", "nowhere") as unknown:
        _, said = unknown.communicate(timeout=patience(60))
    assert unknown.returncode == 4
    assert (
        said.decode() == f"Error: No executor has an id that begins with nowhere. There are:\n  {executor}\n"
    )
    with logs(cluster, "--executor", "", "--out") as whole:
        assert whole.communicate(timeout=patience(60))[1] == b""
    assert whole.returncode == 0


@pytest.mark.row("S-DEPLOY-02")
def test_spark_submit_in_client_mode(
    spark: StandaloneSpark, cluster: SparkCluster, talking: str, program: Path
) -> None:
    place = program.parent
    done = spark.submit("--deploy-mode", "client", *conf(), program, place, "--rate", "5", cwd=place)
    assert done.returncode == 0, done.stderr
    found = json.loads((place / "found").read_text())
    assert found["values"] == found["again"] == list(range(0, 100, 10))
    assert (found["directory"], found["words"]) == (str(place), ["--rate", "5"])
    # It has run on an executor of its own, which has gone with it; others go on.
    app = max(apps(spark))
    until(lambda: not [p for p in psutil.process_iter(["cmdline"]) if app in (p.info["cmdline"] or [])])
    assert cluster.status(talking) == "RUNNING"


def apps(spark: StandaloneSpark) -> set[str]:
    """The applications that have had an executor here."""
    return {path.name for path in spark.work.glob("app-*")}


@pytest.mark.row("S-DEPLOY-03")
def test_spark_submit_in_cluster_mode(spark: StandaloneSpark, program: Path) -> None:
    place = program.parent
    refused = spark.submit("--deploy-mode", "cluster", *conf(), program, place, cwd=place)
    assert refused.returncode == 1
    said = "Cluster deploy mode is currently not supported for python applications on standalone clusters."
    assert said in refused.stderr
    before = apps(spark)
    (jar,) = (SPARK_HOME / "jars").glob("py4j-*.jar")
    done = spark.submit(
        *("--deploy-mode", "cluster", "--supervise", *conf()),
        *("--conf", f"spark.driver.extraJavaOptions={quick_spark()}"),
        *("--class", "org.apache.spark.deploy.PythonRunner"),
        jar,
        program,
        "",
        place,
        "--fail",
        cwd=place,
    )
    assert done.returncode == 0, done.stderr

    def output() -> str:
        return "\n".join(file.read_text() for file in spark.work.glob("driver-*/std*"))

    waiting.until((place / "found").exists, output, 120)
    found: dict[str, Any] = json.loads((place / "found").read_text())
    assert (place / "failed").exists(), "the first driver has failed, and a second one was started"
    assert found["values"] == found["again"] == list(range(0, 100, 10))
    assert found["words"] == ["--fail"]
    assert Path(found["directory"]).parent == spark.work
    assert len(apps(spark) - before) == 1
