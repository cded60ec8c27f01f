"""The recipe of docs/deployment.md on a real YARN, with state, checkpoints and files in its HDFS."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from firesteel.storage.filesystems import resolve
from tests.jvms import quick_spark
from tests.places import free_port
from tests.servers.hadoop.cluster import Hadoop, environment
from tests.servers.remote_files import read_lines
from tests.spark.standalone import SPARK_HOME
from tests.spark.support import Program, firesteel, started
from tests.waiting import patience, until

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).parent / "programs" / "counts.py"
RECORDS = 6_000
#: Small processes; the jars of Spark are on the machine, so that nothing has to be sent there.
SETTINGS = {
    "spark.yarn.jars": f"local:{SPARK_HOME}/jars/*",
    "spark.executor.instances": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.yarn.am.memory": "512m",
    "spark.yarn.am.extraJavaOptions": quick_spark(),
    "spark.yarn.scheduler.heartbeat.interval-ms": "500",
    "spark.network.timeout": "600s",
}


@pytest.fixture(scope="module")
def yarn(hadoop: Hadoop) -> Hadoop:
    hadoop.start_yarn()
    return hadoop


def variables(yarn: Hadoop) -> dict[str, str]:
    return {
        **environment(yarn),
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def numbered(records: int) -> list[str]:
    return sorted(f"{n % 7} {n // 7 + 1}" for n in range(records))


def ask(port: int, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=patience(30)) as answer:
        return json.loads(answer.read())


def until_answered(program: Program, port: int) -> str:
    """The id of the job."""

    def job() -> str | None:
        assert program.is_running, program.said
        try:
            jobs = ask(port, "/jobs")["jobs"]
        except OSError:
            return None
        return str(jobs[0]["id"]) if jobs else None

    found = until(job, lambda: program.said, 120, look_s=0.2)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def savepoint(yarn: Hadoop, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A job in client mode that was watched, and stopped by REST: its directory, its savepoint."""
    place, port, directory = yarn.place(), free_port(), tmp_path_factory.mktemp("client")
    settings = [word for key, value in SETTINGS.items() for word in ("-D", f"{key}={value}")]
    command = firesteel(
        *("run", "--master", "yarn", "--rest", str(port), *settings),
        *(PROGRAM, place, str(RECORDS), "100"),
    )
    with started(command, directory, variables(yarn)) as program:
        job = until_answered(program, port)
        until(
            lambda: ask(port, f"/jobs/{job}/checkpoints")["counts"]["completed"] >= 2,
            lambda: program.said,
            120,
            look_s=0.2,
        )
        executors = ask(port, "/taskmanagers")["taskmanagers"]
        assert len(executors) == 2
        assert [executor["slotsNumber"] for executor in executors] == [1, 1]
        stop = ask(port, f"/jobs/{job}/stop", {"targetDirectory": f"{place}/savepoints", "drain": False})

        def stopped() -> Any:
            answer = ask(port, f"/jobs/{job}/savepoints/{stop['request-id']}")
            return answer["operation"] if answer["status"]["id"] == "COMPLETED" else None

        operation = until(stopped, lambda: program.said, 60, look_s=0.2)
        assert "location" in operation, operation
        ended = program.end()
        assert ended.code == 0, ended.err
    return place, operation["location"]


@pytest.mark.row("S-DEPLOY-05", "S-ECO-06", "S-LIB-05")
def test_client_mode(yarn: Hadoop, savepoint: tuple[str, str]) -> None:
    place, path = savepoint
    assert path.startswith(f"{place}/savepoints/")
    storage, manifest = resolve(f"{path}/_metadata")
    assert storage.info(manifest) is not None
    lines = read_lines(f"{place}/out")
    assert 0 < len(lines) < RECORDS
    assert len(set(lines)) == len(lines), "a record was counted twice"
    executors = [log for log in yarn.containers.glob("application_*/container_*/stderr") if ran_python(log)]
    assert len(executors) == 2, "containers of YARN have run the records"


def ran_python(log: Path) -> bool:
    return "PythonRunner" in log.read_text() or "Executor: Running task" in log.read_text()


@pytest.mark.row("S-DEPLOY-03", "S-DEPLOY-05", "S-ECO-06")
def test_cluster_mode(yarn: Hadoop, savepoint: tuple[str, str], tmp_path: Path) -> None:
    """``main`` runs in a container, and goes on from the savepoint of the job in client mode."""
    place, path = savepoint
    conf = {
        **SETTINGS,
        "spark.driver.extraJavaOptions": quick_spark(),
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON": sys.executable,
        "spark.yarn.submit.waitAppCompletion": "true",
    }
    done = subprocess.run(
        [
            str(SPARK_HOME / "bin" / "spark-submit"),
            *("--master", "yarn", "--deploy-mode", "cluster"),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
            *(str(PROGRAM), place, str(RECORDS), "100000", path),
        ],
        cwd=tmp_path,
        env=variables(yarn),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patience(180),
    )
    assert done.returncode == 0, f"{done.stderr[-3000:]}\n{outputs(yarn)}"
    assert read_lines(f"{place}/out") == numbered(RECORDS)


def outputs(yarn: Hadoop) -> str:
    logs = sorted(yarn.containers.glob("application_*/container_*/*"))
    return "\n".join(f"== {log}\n{log.read_text()[-3000:]}" for log in logs)
