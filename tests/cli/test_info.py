"""``firesteel info``: the graphs, without Spark."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.spark.support import firesteel
from tests.waiting import patience

PROGRAM = """
from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
pair = Types.TUPLE([Types.LONG(), Types.LONG()])
pairs = env.from_sequence(1, 10).map(lambda v: (v % 3, v), pair).name("pairs")
pairs.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).name("sums").uid("sums-uid").print()
env.execute("the job")
print("after the job")
"""


@pytest.fixture
def without_java(tmp_path: Path) -> dict[str, str]:
    """An environment in which Spark could not start."""
    return os.environ | {"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path), "SPARK_HOME": str(tmp_path)}


def ended(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=patience(60))


def info(folder: Path, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    command = firesteel("info", *options, "program.py")
    return ended(command, folder, env)


def test_text(tmp_path: Path, without_java: dict[str, str]) -> None:
    done = info(tmp_path, without_java, "-p", "3")
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("the job", "pairs", "sums", "sums-uid", "HASH", "after the job"):
        assert words in done.stdout, words


def test_json(tmp_path: Path, without_java: dict[str, str]) -> None:
    done = info(tmp_path, without_java, "--json", "-p", "3")
    assert done.returncode == 0, done.stderr
    graphs = json.loads(done.stdout.removesuffix("after the job\n"))
    assert set(graphs) == {"stream_graph", "job_graph", "levels", "execution_graph"}
    names = [vertex["name"] for vertex in graphs["job_graph"]["vertices"]]
    assert names == ["Source: Sequence Source -> pairs", "sums -> Sink: Print to Std. Out"]
    assert {vertex["parallelism"] for vertex in graphs["job_graph"]["vertices"]} == {3}


@pytest.mark.row("S-GRAPH-11")
def test_it_does_not_load_pyspark(tmp_path: Path, without_java: dict[str, str]) -> None:
    text = PROGRAM + "import sys\nprint('pyspark' in sys.modules)\n"
    (tmp_path / "other.py").write_text(text)
    command = firesteel("info", "other.py")
    done = ended(command, tmp_path, without_java)
    assert done.stdout.endswith("False\n"), done.stderr


def test_a_pyflink_program(tmp_path: Path, without_java: dict[str, str]) -> None:
    (tmp_path / "flink.py").write_text(PROGRAM.replace("firesteel", "pyflink"))
    command = firesteel("info", "--pyflink", "flink.py")
    done = ended(command, tmp_path, without_java)
    assert done.returncode == 0, done.stderr
    assert "sums-uid" in done.stdout


def test_a_program_that_is_wrong(tmp_path: Path, without_java: dict[str, str]) -> None:
    (tmp_path / "bad.py").write_text(PROGRAM.replace("env.execute(", "pairs.uid('sums-uid')\nenv.execute("))
    command = firesteel("info", "bad.py")
    done = ended(command, tmp_path, without_java)
    assert done.returncode == 1
    assert "'sums-uid' is taken" in done.stderr
    assert "Traceback" not in done.stderr
