"""Programs started in odd ways, in odd environments, and signals: each in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipapp
from typing import Any

from tests.waiting import patience

from .core import Case, Here, area

CASES: list[Case] = []
case = area("processes", CASES)

START = """\
from firesteel.testing import MiniCluster
env = MiniCluster.in_process().start().environment(parallelism=1)
"""
PROGRAM = START + "print(sorted(env.from_collection([1, 2]).map(lambda v: v * 10).execute_and_collect()))\n"
#: What a shell starts in the background ignores SIGINT, and so do the tests and what they start.
HEEDS_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
ENDLESS = (
    START
    + """\
import time
def slow(value):
    if value == 2:
        print("runs", flush=True)
    time.sleep(0.02)
    return value
env.from_sequence(0, 2**60).map(slow).print()
"""
)
SCRIPT = (
    START
    + """\
env.from_collection(["\\u00e9"]).print()
env.execute()
"""
)


def run(here: Here, *command: str, text: str | None = None, **more: Any) -> Any:
    """Exit code, output, and what was said beside it in the end."""
    environment = {**os.environ, **more.pop("env", {})}
    for name in more.pop("without", ()):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        env=environment,
        timeout=patience(50),
        cwd=here.path,
        **more,
    )
    return _told(done.returncode, done.stdout, done.stderr)


def _told(code: int, out: str, said: str) -> tuple[int, str, str]:
    """The last line that is said and is not a part of one before."""
    lines = [line for line in said.splitlines() if line[:1].strip()]
    return code, out[:200], (lines or [""])[-1]


def python(here: Here, *arguments: str, **more: Any) -> Any:
    return run(here, sys.executable, *arguments, **more)


@case("a program given with -c")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM)


@case("a program read from the standard input")
def _(here: Here) -> Any:
    return python(here, "-", text=PROGRAM)


@case("a program typed in line by line, as in a notebook")
def _(here: Here) -> Any:
    return python(here, "-q", "-i", text=PROGRAM)[:2]


@case("a program in a zip archive")
def _(here: Here) -> Any:
    here.file("app/helper.py", b"def tenfold(v):\n    return v * 10\n")
    program = PROGRAM.replace("lambda v: v * 10", "helper.tenfold")
    here.file("app/__main__.py", f"import helper\n{program}".encode())
    zipapp.create_archive(here.path / "app", here.path / "app.pyz")
    return python(here, "app.pyz")


@case("a program that is a package, with -m and a relative import")
def _(here: Here) -> Any:
    here.file("app/__init__.py", b"")
    here.file("app/helper.py", b"def tenfold(v):\n    return v * 10\n")
    program = PROGRAM.replace("lambda v: v * 10", "tenfold")
    here.file("app/__main__.py", f"from .helper import tenfold\n{program}".encode())
    return python(here, "-m", "app")


@case("a program run by exec in a namespace of its own")
def _(here: Here) -> Any:
    return python(here, "-c", f"exec({PROGRAM!r}, {{'__name__': 'nowhere'}})")


@case("a program in a file without .py and with spaces in its name")
def _(here: Here) -> Any:
    return python(here, here.file("my program", PROGRAM.encode()))


@case("a program beside modules with the names of ours: types.py, state.py, connectors.py")
def _(here: Here) -> Any:
    for name in ("state", "connectors", "runtime", "formats"):
        here.file(f"{name}.py", b"raise RuntimeError('the wrong one')\n")
    return python(here, here.file("job.py", PROGRAM.encode()))


@case("python -OO, with warnings as errors and in development mode")
def _(here: Here) -> Any:
    return python(here, "-OO", "-W", "error", "-X", "dev", "-c", PROGRAM)


@case("an ASCII terminal and a record that it cannot show")
def _(here: Here) -> Any:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    return python(here, "-c", SCRIPT, env=plain)


@case("a temporary directory that is not there")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM, env={"TMPDIR": str(here.path / "gone")})


@case("no HOME, no USER, no PATH")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM, without=("HOME", "USER", "LOGNAME", "PATH"))


@case("a HOME that is a file")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM, env={"HOME": here.file("home", b"")})


@case("a closed standard output")
def _(here: Here) -> Any:
    return run(here, "sh", "-c", f'{sys.executable} job.py >&-; echo "ended with $?"', env=_job(here))


@case("all three standard streams closed")
def _(here: Here) -> Any:
    command = f'{sys.executable} job.py <&- >&- 2>&-; echo "ended with $?"'
    return run(here, "sh", "-c", command, env=_job(here))


@case("a reader of the output that goes after one line")
def _(here: Here) -> Any:
    here.file("job.py", (START + "env.from_sequence(1, 200000).print()\nenv.execute()\n").encode())
    command = f'({sys.executable} job.py; echo "ended with $?" >ended) | head -1; cat ended'
    return run(here, "sh", "-c", command)


def _job(here: Here) -> dict[str, str]:
    here.file("job.py", SCRIPT.encode())
    return {}


@case("a working directory that is gone, and a program from the standard input")
def _(here: Here) -> Any:
    gone = "import os, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)\n"
    return python(here, "-", text=gone + PROGRAM)


@case("32 open files at most")
def _(here: Here) -> Any:
    here.file("job.py", PROGRAM.encode())
    return run(here, "sh", "-c", f"ulimit -n 32; exec {sys.executable} job.py")


@case("a job run by a thread")
def _(here: Here) -> Any:
    body = "\n".join(f"    {line}" for line in PROGRAM.splitlines())
    return python(
        here,
        "-c",
        f"import threading\ndef job():\n{body}\nt = threading.Thread(target=job); t.start(); t.join()",
    )


@case("a process that forks and runs a job in the child")
def _(here: Here) -> Any:
    program = (
        f"import os\nimport firesteel.datastream\nif os.fork():\n    os.wait()\nelse:\n    exec({PROGRAM!r})"
    )
    return python(here, "-W", "ignore", "-c", program)


@case("a program that ends while its job runs on")
def _(here: Here) -> Any:
    return python(here, "-c", f"{ENDLESS}env.execute_async()\nprint('the end')\n")


@case("an error of a program whose job runs on")
def _(here: Here) -> Any:
    return python(here, "-c", f"{ENDLESS}env.execute_async()\nraise ValueError('of the program')\n")


for _name, _numbers in [
    ("SIGINT", (signal.SIGINT,)),
    ("SIGINT, three times", (signal.SIGINT,) * 3),
    ("SIGTERM", (signal.SIGTERM,)),
    ("SIGHUP", (signal.SIGHUP,)),
    ("SIGUSR1", (signal.SIGUSR1,)),
]:

    def _signalled(here: Here, numbers: Any = _numbers) -> Any:
        job = subprocess.Popen(
            [sys.executable, "-c", f"{HEEDS_CTRL_C}{ENDLESS}env.execute()"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=here.path,
        )
        try:
            assert job.stdout is not None
            job.stdout.readline()
            for number in numbers:
                job.send_signal(number)
            _, said = job.communicate(timeout=patience(50))
            return _told(job.returncode, "", said)
        finally:
            job.kill()
            job.communicate()

    case(f"{_name} while a job runs")(_signalled)
