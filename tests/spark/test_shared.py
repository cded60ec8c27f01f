"""What one application of Spark keeps of the jobs of several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from firesteel.common.exit_codes import ENGINE_LOST
from firesteel.spark.shared import forget_files
from tests.places import free_port
from tests.waiting import patience


def given(session: SparkSession) -> set[str]:
    """The names of the files that each task gets."""
    context: Any = session.sparkContext
    return {url.rpartition("/")[2] for url in context.listFiles}


def test_files_of_a_job_that_has_gone_are_given_to_no_other(
    spark_session: SparkSession, tmp_path: Path
) -> None:
    """Broken by hand: on executors of other machines each job but the first fails: files of the first
    one are not found."""
    before = given(spark_session)
    names = ["job1-a.zip", "job1-b.zip", "job10-a.zip", "data.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
        spark_session.sparkContext.addFile(str(tmp_path / name))
    assert given(spark_session) == before | set(names)
    forget_files(spark_session, "job1-")
    assert given(spark_session) == before | {"job10-a.zip", "data.txt"}
    for prefix in ("job1", "data"):
        forget_files(spark_session, prefix)
    assert given(spark_session) == before
    forget_files(spark_session, "job1-")


def test_the_process_of_a_job_that_begins_when_the_jvm_has_died_says_so() -> None:
    """The owner has not seen it yet. To fail would end the job for good."""
    program = "from firesteel.spark.shared import JobOnSharedSpark; JobOnSharedSpark('0' * 32, ())"
    gateway = {"PYSPARK_GATEWAY_PORT": str(free_port()), "PYSPARK_GATEWAY_SECRET": "secret"}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | gateway, capture_output=True, text=True
    )
    assert ended.returncode == ENGINE_LOST, ended.stderr
    assert "does not answer" in ended.stderr


_OWNER = """
import os, signal, threading, time
from firesteel.common import Configuration
from firesteel.spark.shared import OwnedSpark

configuration = Configuration()
configuration.set_string("spark.master", "local[1]")
spark = OwnedSpark(configuration)
spark.start()
os.kill(spark._jvm._process.pid, signal.SIGKILL)
while spark.manner_of_death() is None:
    time.sleep(0.01)
again = threading.Thread(target=spark.start)
again.start()
asked = 0
while again.is_alive():
    spark.end_job("0" * 32)
    asked += 1
    time.sleep(0.001)
assert spark.manner_of_death() is None
print("asked", asked > 0)
spark.stop()
"""


def test_a_job_is_ended_while_the_jvm_is_replaced() -> None:
    """Its process has left with the JVM. A session is then half of one, and the job failed by what it met."""
    ended = subprocess.run(
        [sys.executable, "-c", _OWNER], capture_output=True, text=True, timeout=patience(300)
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "asked True"
