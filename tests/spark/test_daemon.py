"""The process that forks Python workers: nothing that it has imported is in the way of a fork."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.spark.daemon import tolerant
from tests.spark.support import run

# Two workers that draw, each of all that draws in a process; and what the daemon has begun.
PROGRAM = """
import json, os, random, sys
import psutil
from firesteel.spark.daemon import prepare

prepare()
import numpy

def drawn():
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, json.dumps([numpy.random.random(), random.random()]).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(read, 1000))

print(json.dumps({
    "threads": psutil.Process().num_threads(),
    "modules": sorted(sys.modules),
    "drawn": [drawn(), drawn()],
}))
"""


def test_it_has_one_thread_and_workers_that_differ() -> None:
    as_spark_starts_it = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, env=as_spark_starts_it, check=True, capture_output=True, text=True)
    found = json.loads(ended.stdout)
    assert found["threads"] == 1
    assert {"pyspark.worker", "pyarrow", "firesteel.runtime.task_loop"} <= set(found["modules"])
    assert "pandas" not in found["modules"], "most workers do not need it"
    of_numpy, of_python = zip(*found["drawn"], strict=True)
    assert len(set(of_numpy)) == len(set(of_python)) == 2


# What Python looks at in archives: when all is forgotten, and for an archive that has changed.
ARCHIVES = """
import importlib, json, os, sys, zipfile, zipimport

def put(module):
    with zipfile.ZipFile("some.zip", "a") as archive:
        archive.writestr(f"{module}.py", "")
        archive.writestr(f"package/{module}.py", "")

with zipfile.ZipFile("some.zip", "w") as archive:
    archive.writestr("package/__init__.py", "")
put("first")
sys.path.insert(0, os.path.abspath("some.zip"))
import first, package.first
from firesteel.spark.daemon import prepare
prepare()

read, reads = zipimport._read_directory, []
def counted(archive):
    reads.append(archive)
    return read(archive)
zipimport._read_directory = counted
importlib.invalidate_caches()
idle = len(reads)
put("second")
importlib.invalidate_caches()
import second, package.second
os.rename("some.zip", "gone.zip")
importlib.invalidate_caches()
try:
    import third
except ImportError:
    pass
names = [os.path.basename(archive) for archive in reads]
print(json.dumps({"idle": idle, "names": names}))
"""


def test_a_worker_reads_archives_again_only_when_they_have_changed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ARCHIVES]
    ended = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(ended.stdout)
    assert found["idle"] == 0
    assert set(found["names"]) == {"some.zip"}


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ConnectionResetError(104, "reset")])
def test_a_worker_that_nobody_listens_to_ends_quietly(error: OSError) -> None:
    def cut(socket: object, authenticated: bool) -> int:
        raise error

    assert tolerant(cut)(None, True) == 1
    assert tolerant(lambda socket, authenticated: 0)(None, True) == 0
    with pytest.raises(ZeroDivisionError):
        tolerant(lambda socket, authenticated: 1 // 0)(None, True)


# Which daemons there are before the first job, and after it.
EARLY = """
import json, time
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.execution import get_executor
from firesteel.spark.processes import python_daemons

platform = get_executor().platform
env = StreamExecutionEnvironment.get_execution_environment()
session = platform.prepare(env.configuration)
until = time.monotonic() + 60
while not (early := python_daemons(session)) and time.monotonic() < until:
    time.sleep(0.01)
env.from_collection([1, 2]).key_by(lambda v: v).sum(0).print()
env.execute()
print(json.dumps([early, python_daemons(session)]))
"""


@pytest.mark.spark
def test_it_starts_before_the_first_job_which_uses_it(tmp_path: Path) -> None:
    ended = run([sys.executable, "-c", EARLY], tmp_path)
    assert ended.out, ended.err
    early, later = json.loads(ended.out.splitlines()[-1])
    assert len(early) == 1
    assert later == early
