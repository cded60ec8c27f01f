"""What a container runs that Spark starts as a pod."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.spark.java import find_java
from firesteel.spark.pod import command

# What Spark 4.3 sets for an executor, of a pod that was looked at.
EXECUTOR = {
    "SPARK_HOME": "/opt/spark",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:7078",
    "SPARK_EXECUTOR_ID": "12",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.9",
    "SPARK_EXECUTOR_POD_NAME": "flint-exec-12",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    **{f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in range(12)},
}


@pytest.mark.row("S-DEPLOY-06")
def test_an_executor() -> None:
    found = command(["executor"], EXECUTOR)
    options = [f"-Dn={number}" for number in range(12)]  # in their order, not that of their names
    assert found == [
        f"{find_java()}/bin/java",
        *options,
        *("-Xms512m", "-Xmx512m", "-cp", "/opt/spark/conf:/opt/spark/jars/*"),
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", "spark://CoarseGrainedScheduler@10.0.0.7:7078", "--executor-id", "12"),
        *("--cores", "2", "--app-id", "spark-1", "--hostname", "10.0.0.9"),
        *("--resourceProfileId", "0", "--podName", "flint-exec-12"),
    ]
    more = command(["executor"], EXECUTOR | {"SPARK_CLASSPATH": "/opt/more/*"})
    assert more[more.index("-cp") + 1] == "/opt/spark/conf:/opt/more/*:/opt/spark/jars/*"


def test_a_driver() -> None:
    words = [
        "driver",
        "--properties-file",
        "/opt/spark/conf/spark.properties",
        "local:///opt/program/main.py",
        "7",
    ]
    assert command(words, {"SPARK_HOME": "/opt/spark", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.7"}) == [
        "/opt/spark/bin/spark-submit",
        *("--conf", "spark.driver.bindAddress=10.0.0.7"),
        *("--conf", "spark.executorEnv.SPARK_DRIVER_POD_IP=10.0.0.7"),
        *("--deploy-mode", "client", *words[1:]),
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing: Spark starts pods as one of executor, driver."),
        (["worker"], "worker: Spark starts pods as one of executor, driver."),
        (["executor"], "executor: SPARK_EXECUTOR_MEMORY is not set: only Spark can start this."),
    ],
)
def test_what_spark_does_not_start(words: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        command(words, {"SPARK_HOME": "/opt/spark"})
    module = [sys.executable, "-m", "firesteel.spark.pod", *words]
    done = subprocess.run(module, capture_output=True, text=True, env={"PATH": "/usr/bin"}, cwd=Path.cwd())
    assert (done.returncode, done.stderr) == (1, f"{says}\n")
