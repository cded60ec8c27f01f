"""Starting the JVM of Spark: imports nothing of PySpark, so that a JVM can start while PySpark is imported.

The JVM is in a session of its own: signals of the terminal reach this process alone, which ends the JVM in
order. One whose parent has died ends too, for it reads from a pipe of its parent's.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from firesteel.common.errors import EngineError
from firesteel.spark.archive import archive_options
from firesteel.spark.java import find_java, find_version
from firesteel.spark.settings import LOOPBACK, of_the_jvm
from firesteel.storage.process_directory import new_directory, process_directory

#: A file of the process directory whose time is that of the last start of a JVM.
STARTED: Final = "started"
_POLL_S: Final = 0.02
_MAIN: Final = "org.apache.spark.deploy.SparkSubmit"
_PROGRAM: Final = "pyspark-shell"
_KNOWN: Final = "4.3."  # the versions whose launcher does what is done here
_SCALA: Final = "2.13"
# What Spark's launcher gives Java 17 and later, except the incubating module of vectors: only MLlib uses it,
# where it is there, and Java prints a warning for it.
JAVA: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            "java.base/java.lang",
            "java.base/java.lang.invoke",
            "java.base/java.lang.reflect",
            "java.base/java.io",
            "java.base/java.net",
            "java.base/java.nio",
            "java.base/java.util",
            "java.base/java.util.concurrent",
            "java.base/java.util.concurrent.atomic",
            "java.base/jdk.internal.ref",
            "java.base/sun.nio.ch",
            "java.base/sun.nio.cs",
            "java.base/sun.security.action",
            "java.base/sun.util.calendar",
            "java.security.jgss/sun.security.krb5",
        )
    ),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
#: Java 25 has not got this package any more, and prints a warning for it in each program.
_GONE: Final = (25, "--add-opens=java.base/sun.security.action=ALL-UNNAMED")
# On two processors much of a short job is compiling what it runs a few times: a method must be called four
# times as often before it is compiled. What runs for long is compiled as well as ever.
_PATIENT: Final = "-XX:CompileThresholdScaling=4"
# Variables of Spark's scripts that are taken into account here; any other one means that they must run.
_UNDERSTOOD: Final = {
    "SPARK_SUBMIT_OPTS",
    "SPARK_LOCAL_IP",
    "SPARK_LOCAL_HOSTNAME",
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",  # this and the next: PySpark sets them when a session starts
    "SPARK_BUFFER_SIZE",
}
_OF_SCRIPTS: Final = ("SPARK_", "HADOOP_", "YARN_", "PYSPARK_SUBMIT_ARGS", "_JAVA_OPTIONS")
_SETTINGS_OF_SCRIPTS: Final = (
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
    "spark.submit.",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a JVM takes from this process when it starts."""

    settings: dict[str, str]
    variables: dict[str, str]
    directory: str

    def serve(self, others: Surroundings) -> bool:
        """Whether a JVM that has taken these is as good as one that takes the others."""
        return (self.variables, self.directory, of_the_jvm(self.settings)) == (
            others.variables,
            others.directory,
            of_the_jvm(others.settings),
        )


class StartedJvm:
    """A JVM that starts, or has started, for PySpark."""

    def __init__(self, process: subprocess.Popen[bytes], report: Path, taken: Surroundings) -> None:
        self.process = process
        self.taken = taken
        self._report = report

    def address(self) -> tuple[int, str]:
        """Wait until it listens; its port and the secret that it wants.

        :raises EngineError: it has ended instead.
        """
        try:
            while not self._report.exists():
                if self.process.poll() is not None:
                    raise EngineError(
                        "The JVM of Spark did not start",
                        detail=f"it {manner_of_end(self.process.returncode)}",
                        hint="what it said stands above; check spark.driver.* and that Java 17 or newer "
                        "is found (JAVA_HOME)",
                    )
                time.sleep(_POLL_S)
            content = self._report.read_bytes()
        finally:
            shutil.rmtree(self._report.parent, ignore_errors=True)
        (port,) = struct.unpack_from("!i", content)
        (length,) = struct.unpack_from("!i", content, 4)
        return port, content[8 : 8 + length].decode()

    def drop(self) -> None:
        """End it: nobody uses it."""
        self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self._report.parent, ignore_errors=True)


_early: StartedJvm | None = None
_last: subprocess.Popen[bytes] | None = None
_one_at_a_time = threading.Lock()


def start_early(settings: dict[str, str]) -> None:
    """Start a JVM that the first session of ours will take, if by then everything is as it is now."""
    global _early
    if was_started_by_spark():
        return
    with _one_at_a_time:
        if _early is None:
            prepare_environment()
            _early = _start(_surroundings(settings))


def drop_early() -> None:
    """End the JVM that was started early and that nobody has taken."""
    global _early
    with _one_at_a_time:
        jvm, _early = _early, None
    if jvm is not None:
        jvm.drop()


def start(settings: dict[str, str]) -> StartedJvm:
    """The JVM for a session with these settings: the early one when it is as good, else a new one."""
    global _early
    surroundings = _surroundings(settings)
    with _one_at_a_time:
        jvm, _early = _early, None
    if jvm is not None:
        if jvm.taken.serve(surroundings) and jvm.process.poll() is None:
            return jvm
        jvm.drop()
    return _start(surroundings)


def last_started() -> subprocess.Popen[bytes] | None:
    """The process of the JVM that was started last."""
    return _last


def was_started_by_spark() -> bool:
    """Whether ``spark-submit`` runs this program: then PySpark connects to the JVM of that."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def prepare_environment() -> None:
    """What a session of ours and its workers are started with."""
    os.environ["JAVA_HOME"] = find_java()
    # Without it the workers may start another Python than the one that runs the program.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def manner_of_end(code: int) -> str:
    """What an exit code of a JVM says, as the rest of a sentence."""
    if code < 0:
        number = -code
        name = signal.Signals(number).name if number in signal.valid_signals() else f"signal {number}"
        return f"was killed by {name}"
    known = {52: ", which is Spark's for: out of memory", 50: ", after an exception that nobody caught"}
    return f"ended with exit code {code}{known.get(code, '')}"


def _surroundings(settings: dict[str, str]) -> Surroundings:
    return Surroundings(settings, dict(os.environ), os.getcwd())


def _start(taken: Surroundings) -> StartedJvm:
    global _last
    directory = new_directory()
    (process_directory() / STARTED).touch()
    report = directory / "address"
    home = spark_package()
    variables = taken.variables | {
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(report),
        "PYTHONHASHSEED": "0",  # as Spark's script does: workers must agree on hashes
    }
    if _is_plain(home, taken):  # what the scripts leave to the executors that Spark starts
        variables |= {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": _SCALA}
    if taken.settings.get("spark.driver.bindAddress") == LOOPBACK:
        variables.setdefault("SPARK_LOCAL_IP", LOOPBACK)  # for all that has no setting of its own
    try:
        process = subprocess.Popen(
            _command(taken), stdin=subprocess.PIPE, env=variables, cwd=taken.directory, start_new_session=True
        )
    except OSError as e:
        shutil.rmtree(directory, ignore_errors=True)
        raise EngineError("The JVM of Spark cannot be started", detail=str(e)) from e
    _last = process
    return StartedJvm(process, report, taken)


def _command(taken: Surroundings) -> list[str]:
    confs = [word for key, value in taken.settings.items() for word in ("--conf", f"{key}={value}")]
    home = spark_package()
    if not _is_plain(home, taken):
        submit = Path(taken.variables.get("SPARK_HOME") or home) / "bin" / "spark-submit"
        arguments = taken.variables.get("PYSPARK_SUBMIT_ARGS", _PROGRAM)
        return [str(submit), *confs, *shlex.split(arguments)]
    return [
        str(Path(find_java()) / "bin" / "java"),
        "-cp",
        class_path(home),
        *archive_options(find_java(), home),
        *shlex.split(taken.variables.get("SPARK_SUBMIT_OPTS", "")),
        _PATIENT,
        f"-Xmx{taken.settings.get('spark.driver.memory', '1g')}",
        *shlex.split(taken.settings.get("spark.driver.extraJavaOptions", "")),
        *java_options(find_version(find_java())),
        _MAIN,
        *confs,
        _PROGRAM,
    ]


def java_options(version: int) -> tuple[str, ...]:
    """What a Java of this version is given."""
    since, gone = _GONE
    return tuple(option for option in JAVA if option != gone or version < since)


def class_path(home: Path) -> str:
    """As Spark's launcher has it."""
    jars = home / "jars"
    return os.pathsep.join([f"{home}/conf", *map(str, sorted(jars.glob("slf4j-api-*.jar"))), f"{jars}/*"])


def _is_plain(home: Path, taken: Surroundings) -> bool:
    """Whether Spark is the one of the package and nothing asks for its scripts."""
    if not _version(home).startswith(_KNOWN) or (home / "conf").exists():
        return False
    if any(key.startswith(_SETTINGS_OF_SCRIPTS) for key in taken.settings):
        return False
    return not any(
        name.startswith(_OF_SCRIPTS) and name not in _UNDERSTOOD and value
        for name, value in taken.variables.items()
    )


@cache
def spark_package() -> Path:
    """Where PySpark is installed; found without importing it."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise EngineError("PySpark is not installed", hint="pip install 'pyspark>=4.3,<4.4'")
    return Path(found.origin).parent


@cache
def _version(home: Path) -> str:
    words = (home / "version.py").read_text().split()
    return words[-1].strip("'\"")
