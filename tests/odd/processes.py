"""Programs started in odd ways, in odd environments, and signals: each in a process of its own."""

from __future__ import annotations

import os
import re
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
#: How Python tells of an interrupt that comes while it prints the traceback of the one before.
DUMP = re.compile(r"^object type name: (\w+)\nobject repr .*\nlost sys\.stderr\n", re.MULTILINE)
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
RUNS = 'print("runs", flush=True)'
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
            # Python ends its line by ": " if the last Ctrl-C comes while it waits for its threads at the end.
            code, out, last = _told(job.returncode, "", DUMP.sub(r"\1\n", said))
            return code, out, last.removesuffix(": ")
        finally:
            job.kill()
            job.communicate()

    case(f"{_name} while a job runs")(_signalled)


# ---- variables and options of Python

for _words, _variables in {
    "a hash seed of its own, and keys of text": {"PYTHONHASHSEED": "12345"},
    "a time zone that there is not": {"TZ": "Nowhere/At_All"},
    "a time zone of half an hour and a summer time": {"TZ": "Australia/Lord_Howe"},
    "PYTHONOPTIMIZE=2": {"PYTHONOPTIMIZE": "2"},
    "PYTHONDEVMODE and all warnings as errors": {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error"},
    "PYTHONSAFEPATH": {"PYTHONSAFEPATH": "1"},
    "PYTHONDONTWRITEBYTECODE and a PYTHONPYCACHEPREFIX that is a device": {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": "/dev/null",
    },
    "PYTHONINTMAXSTRDIGITS=640": {"PYTHONINTMAXSTRDIGITS": "640"},
    "PYTHONIOENCODING=utf-8:surrogateescape": {"PYTHONIOENCODING": "utf-8:surrogateescape"},
    "a language with commas in its numbers": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "a configuration that is not there": {"FIRESTEEL_CONF": "/nowhere/config.yaml"},
}.items():

    def _with(here: Here, variables: Any = _variables) -> Any:
        return python(here, "-c", PROGRAM, env=variables)

    case(_words)(_with)


@case("a configuration that is not YAML")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM, env={"FIRESTEEL_CONF": here.file("config.yaml", b"a: [\n")})


@case("a configuration that is not UTF-8")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM, env={"FIRESTEEL_CONF": here.file("config.yaml", b"a: \xff\xfe\n")})


@case("a temporary directory with a space, an umlaut and a long name")
def _(here: Here) -> Any:
    place = here.path / ("tmp \u00fc " + "x" * 150)
    place.mkdir()
    return python(here, "-c", PROGRAM, env={"TMPDIR": str(place)})


@case("a temporary directory that is a file")
def _(here: Here) -> Any:
    return python(here, "-c", PROGRAM, env={"TMPDIR": here.file("tmp", b"")})


@case("a program reached by a link, in a directory with a space and an umlaut")
def _(here: Here) -> Any:
    here.file("my \u00fc/helper.py", b"def tenfold(v):\n    return v * 10\n")
    program = PROGRAM.replace("lambda v: v * 10", "helper.tenfold")
    here.file("my \u00fc/job.py", f"import helper\n{program}".encode())
    (here.path / "link.py").symlink_to(here.path / "my \u00fc" / "job.py")
    return python(here, "link.py")


@case("a program in Latin-1, with a line that says so")
def _(here: Here) -> Any:
    text = (
        "# -*- coding: latin-1 -*-\n"
        + START
        + "env.from_collection(['\u00fc']).map(lambda v: v + '\u00e9').print()\nenv.execute()\n"
    )
    return python(here, here.file("job.py", text.encode("latin-1")))


@case("a program with a byte order mark and lines that end with CR and LF")
def _(here: Here) -> Any:
    return python(here, here.file("job.py", b"\xef\xbb\xbf" + PROGRAM.replace("\n", "\r\n").encode()))


# ---- limits of the system


@case("files of 128 kB at most")
def _(here: Here) -> Any:
    here.file("job.py", PROGRAM.encode())
    return run(here, "bash", "-c", f"ulimit -f 128; exec {sys.executable} job.py")


@case("no core files, no locked memory")
def _(here: Here) -> Any:
    here.file("job.py", PROGRAM.encode())
    return run(here, "bash", "-c", f"ulimit -c 0; ulimit -l 0; exec {sys.executable} job.py")


@case("output to a full device")
def _(here: Here) -> Any:
    return run(here, "sh", "-c", f'{sys.executable} job.py >/dev/full; echo "ended with $?"', env=_job(here))


@case("signals of children and of broken pipes ignored")
def _(here: Here) -> Any:
    ignored = [f"signal.signal(signal.{name}, signal.SIG_IGN)" for name in ("SIGCHLD", "SIGPIPE")]
    return python(here, "-c", "\n".join(["import signal", *ignored, PROGRAM]))


@case("an alarm whose handler raises while a job runs")
def _(here: Here) -> Any:
    rings = "signal.setitimer(signal.ITIMER_REAL, 0.1)"
    return python(
        here,
        "-c",
        "import signal\n"
        "def ring(*_):\n    raise TimeoutError('rings')\n"
        "signal.signal(signal.SIGALRM, ring)\n"
        f"{ENDLESS.replace(RUNS, rings)}env.execute()\n",
    )[::2]


@case("a handler of SIGTERM that raises SystemExit while a job runs")
def _(here: Here) -> Any:
    ends = "os.kill(os.getpid(), signal.SIGTERM)"
    return python(
        here,
        "-c",
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        f"{ENDLESS.replace(RUNS, ends)}env.execute()\n",
    )[::2]


# ---- jobs at odd times


@case("a job at the end of the process, from atexit")
def _(here: Here) -> Any:
    body = "\n".join(f"    {line}" for line in PROGRAM.splitlines())
    return python(here, "-c", f"import atexit\n@atexit.register\ndef job():\n{body}\n")


@case("a job in the handler of a signal")
def _(here: Here) -> Any:
    body = "\n".join(f"    {line}" for line in PROGRAM.splitlines())
    return python(
        here,
        "-c",
        f"import os, signal\ndef job(*_):\n{body}\nsignal.signal(signal.SIGUSR1, job)\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n",
    )


@case("a job in the __del__ of an object")
def _(here: Here) -> Any:
    body = "\n".join(f"        {line}" for line in PROGRAM.splitlines())
    return python(here, "-c", f"class Last:\n    def __del__(self):\n{body}\nx = Last()\ndel x\n")


@case("a job while a module is imported")
def _(here: Here) -> Any:
    here.file("jobs.py", PROGRAM.encode())
    return python(here, "-c", "import jobs")


@case("a job inside of a running event loop")
def _(here: Here) -> Any:
    body = "\n".join(f"    {line}" for line in PROGRAM.splitlines())
    return python(here, "-c", f"import asyncio\nasync def job():\n{body}\nasyncio.run(job())\n")


@case("ten jobs at a time, from threads")
def _(here: Here) -> Any:
    program = (
        START + "from concurrent.futures import ThreadPoolExecutor\n"
        "from firesteel.datastream import StreamExecutionEnvironment\n"
        "def job(n):\n"
        "    e = StreamExecutionEnvironment.get_execution_environment(); e.set_parallelism(1)\n"
        "    return sum(e.from_collection([n, n]).map(lambda v: v * n).execute_and_collect())\n"
        "with ThreadPoolExecutor(10) as pool: print(list(pool.map(job, range(10))))\n"
    )
    return python(here, "-c", program)


@case("a job in a process of multiprocessing, which is spawned")
def _(here: Here) -> Any:
    body = "\n".join(f"    {line}" for line in PROGRAM.splitlines())
    program = (
        f"import multiprocessing\ndef job():\n{body}\n"
        "if __name__ == '__main__':\n"
        "    p = multiprocessing.get_context('spawn').Process(target=job)\n"
        "    p.start()\n    p.join()\n    print(p.exitcode)\n"
    )
    return python(here, here.file("job.py", program.encode()))


@case("a map that forks, and the child ends at once")
def _(here: Here) -> Any:
    program = (
        START
        + "import os\ndef fork(v):\n    if v == 2 and os.fork() == 0:\n        os._exit(3)\n    return v\n"
        "print(sorted(env.from_collection([1, 2, 3]).map(fork).execute_and_collect()))\n"
    )
    return python(here, "-W", "ignore", "-c", program)


@case("a map that forks, and the child leaves by SystemExit, with all that is done at the end of a process")
def _(here: Here) -> Any:
    program = (
        START + "import os, sys, time\ndef fork(v):\n"
        "    if v == 2:\n        pid = os.fork()\n"
        "        if pid == 0:\n            sys.exit(3)\n"
        "        os.waitpid(pid, 0)\n    return v\n"
        "numbers = env.from_collection([1, 2, 3])\n"
        "for found in (numbers.map(fork), numbers):\n"
        "    print(sorted(found.key_by(lambda v: v).reduce(max).execute_and_collect()))\n"
    )
    return python(here, "-W", "ignore", "-c", program)[:2]


@case("a map that ends the process at once")
def _(here: Here) -> Any:
    program = START + (
        "import os\nprint('before', flush=True)\n"
        "list(env.from_collection([1]).map(lambda v: os._exit(5)).execute_and_collect())\n"
    )
    return python(here, "-c", program)


@case("two processes that write to one directory at a time")
def _(here: Here) -> Any:
    text = START + (
        "import sys\nfrom firesteel.common import Encoder, Types\n"
        "from firesteel.datastream.connectors.file_system import FileSink\n"
        "sink = FileSink.for_row_format('out', Encoder.simple_string_encoder()).build()\n"
        "texts = [sys.argv[1] + str(n) for n in range(500)]\n"
        "env.from_collection(texts, Types.STRING()).sink_to(sink)\nenv.execute()\n"
    )
    here.file("job.py", text.encode())
    both = f"{sys.executable} job.py a & {sys.executable} job.py b & wait"
    counts = "find out -name 'part-*' | xargs cat | sort -u | wc -l; find out -name '.*part*' | wc -l"
    return run(here, "sh", "-c", f"{both}; {counts}")
