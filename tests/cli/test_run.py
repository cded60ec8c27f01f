"""``firesteel run``: arguments, options, exit codes, signals."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.version import __version__
from tests.spark.support import Program, firesteel, run, started
from tests.waiting import patience

ENDLESS = """
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import DataGeneratorSource, RateLimiterStrategy

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(20), Types.LONG())
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "ticks")
stream.key_by(lambda v: v % 3).reduce(lambda a, b: a + b).print()
try:
    env.execute("endless")
finally:
    print("the script has ended", flush=True)
"""
FAILS = """
from firesteel.datastream import StreamExecutionEnvironment

def divide(value):
    return 6 // value

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([3, 0]).map(divide).name("six").uid("six-uid").print()
env.execute("fails")
"""
STARTED = re.compile(r"Job 'endless' has been submitted with JobID [0-9a-f]{32}; Spark's log: \S+/spark\.log")
SHOWS = """
import os, sys
from firesteel.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
name = env.configuration.get_string("pipeline.name", "-")
print(os.path.basename(sys.argv[0]), sys.argv[1:], __name__, env.get_parallelism(), name)
if "exit" in sys.argv:
    sys.exit(7)
if "raise" in sys.argv:
    raise LookupError("of the script")
if "job" in sys.argv:
    env.from_collection([1]).print()
    env.execute()
"""


def call(*args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """For commands that do not come to a job."""
    return subprocess.run(firesteel(*args), cwd=cwd, capture_output=True, text=True, timeout=patience(60))


def script(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def test_version(tmp_path: Path) -> None:
    done = call("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"firesteel, version {__version__}\n")


def test_arguments_go_to_the_script(tmp_path: Path) -> None:
    script(tmp_path, SHOWS)
    options = ["-p", "3", "-D", "pipeline.name=a = b"]
    done = call("run", *options, "program.py", "-p", "9", "--master", "mine", "-D", "x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "program.py ['-p', '9', '--master', 'mine', '-D', 'x'] __main__ 3 a = b\n"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["-D", "no-equals-sign"], 2, "-D key=value"),
        (["-D", "=5"], 2, "-D key=value"),
        (["-p", "0"], 2, "0 is not in the range"),
        (["-p", "two"], 2, "'two' is not a valid integer"),
        (["-D", "firesteel.no-such-option=1"], 1, "There is no option firesteel.no-such-option"),
        (["-D", "firesteel.epoch.max-records=0"], 1, "firesteel.epoch.max-records must be at least 1"),
        (["-D", "firesteel.epoch.target=soon"], 1, "firesteel.epoch.target"),
    ],
)
def test_a_bad_option(tmp_path: Path, options: list[str], code: int, words: str) -> None:
    script(tmp_path, SHOWS)
    done = call("run", *options, "program.py", "job", cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    done = call("run", "missing.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "missing.py" in done.stderr


def test_the_scripts_own_exit_code_and_exception(tmp_path: Path) -> None:
    script(tmp_path, SHOWS)
    assert call("run", "program.py", "exit", cwd=tmp_path).returncode == 7
    done = call("run", "program.py", "raise", cwd=tmp_path)
    assert done.returncode == 1
    assert "LookupError: of the script" in done.stderr


def test_a_module_that_firesteel_has_not(tmp_path: Path) -> None:
    script(tmp_path, "import pyflink.no_such_module\n")
    done = call("run", "--pyflink", "program.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "pyflink.no_such_module" in done.stderr


@pytest.mark.spark
def test_a_job_that_fails(tmp_path: Path) -> None:
    done = run(firesteel("run", "-p", "1", script(tmp_path, FAILS)), tmp_path)
    assert done.code == 1
    for words in ("ZeroDivisionError", "operator: six", "uid: six-uid", "subtask: 0", "return 6 // value"):
        assert words in done.err, words
    assert "Py4J" not in done.err
    assert "\tat " not in done.err, "no Java trace"


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("endless"), ENDLESS)


def at_work(program: Program) -> None:
    program.wait_for(lambda lines: len(lines) > 10)
    assert sum("java" in process.name() for process in program.processes()) == 1
    assert len(program.processes()) > 2, "Python workers are at work"


@pytest.fixture
def program(endless: Path, tmp_path: Path) -> Iterator[Program]:
    options = ["-p", "2", "-D", f"firesteel.local-dir={tmp_path / 'local'}"]
    with started(firesteel("run", *options, endless), tmp_path) as running:
        yield running


@pytest.mark.spark
@pytest.mark.parametrize(
    ("number", "group"),
    [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, True)],
    ids=["Ctrl-C", "kill", "a supervisor", "a terminal that goes"],
)
def test_a_signal_ends_the_job_and_all_its_processes(
    program: Program, tmp_path: Path, number: signal.Signals, group: bool
) -> None:
    at_work(program)
    if group:
        program.signal_group(number)
    else:
        program.signal(number)
    done = program.end(60)  # sees that no process is left
    assert done.code == 130
    assert "the script has ended" in done.lines
    started, *rest = done.err.splitlines()
    assert STARTED.fullmatch(started)
    assert rest == ["cancelled"]
    assert not list((tmp_path / "local").glob("*")), "local stores are left"
    assert not list(tmp_path.glob("firesteel-*")), "the state directory is left"
