"""What a Spark session of ours is started with; known before anything of PySpark is imported."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.memory_budget import budget_of, executor_settings, has_executors
from firesteel.common.options.execution import HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, SPARK_MASTER
from firesteel.common.options.firesteel import SPARK_LOG
from firesteel.storage.process_directory import named_directory, process_directory

DEFAULT_MASTER: Final = "local[*,4]"  # in plain local[n] a killed Python worker fails the job
LOOPBACK: Final = "127.0.0.1"

#: Static settings that only a new session can take, each with what is lost without it.
STATIC: Final = {
    "spark.python.unix.domain.socket.enabled": (
        "true",
        "each Python task waits about 40 ms for a TCP acknowledgement",
    ),
}
#: Of the row behind what a task in real time sends at once: see ``bursts.py``.
PUSH_BYTES: Final = 2048
#: The same for jobs in real time (``pipelined.py``). Those in epochs do not notice (``own_thread.py``).
REAL_TIME: Final = {
    "spark.shuffle.manager.incremental": (
        "org.apache.spark.shuffle.streaming.StreamingShuffleManager",
        "there is no exchange that hands rows on while its stage runs",
    ),
    "spark.python.udf.pipelined.enabled": (
        "true",
        "the JVM waits for the output of a Python task before it gives it more input",
    ),
    "spark.shuffle.streaming.networkBufferSize": (
        str(PUSH_BYTES),
        "rows wait in the network buffers of an exchange until these are full, or for 50 ms",
    ),
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": (
        "1000",
        "a thread of each task looks more often than it must for rows that wait in network buffers",
    ),
    "spark.shuffle.streaming.writerMaxMemory": (
        str(1 << 20),
        "more rows than one would think may wait in network buffers: Spark takes each for a full buffer",
    ),
}
_ALL_CORES: Final = re.compile(r"local\[\s*\*\s*(?P<rest>,\s*\d+\s*)?\]")
_THREADS: Final = 16  # of a local master, at least: so that the next job in real time has room, too
_OWN: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.python.worker.reuse": "true",
    # An exchange to more tasks than this is written by each task into one file. To fewer it goes into a file
    # for each of them, which takes no memory; in epochs of a few records files are what costs.
    "spark.shuffle.sort.bypassMergeThreshold": "4",
    # What Spark remembers of jobs that have ended, for its own pages: each epoch is some of them.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
}
#: On a cluster. An executor whose machine or pod is gone refuses nothing and answers nothing: with Spark's
#: own settings what it held would be asked for four times, two minutes each time, before it is made anew.
_REACHED: Final = {
    "spark.shuffle.io.connectionCreationTimeout": "5s",
    "spark.shuffle.io.connectionTimeout": "30s",
    "spark.shuffle.io.retryWait": "1s",
}
_LIVES: Final = "spark.executor.heartbeatInterval"
_NETWORK: Final = "spark.network.timeout"  # what a user says there counts for all that follows from it
_SILENT: Final = ("spark.storage.blockManagerHeartbeatTimeoutMs", _NETWORK)
_LOOKED_AT: Final = "spark.network.timeoutInterval"
#: Forks the workers; only where they are sure to have this very engine (``daemon.py``).
DAEMON: Final = {"spark.python.daemon.module": "firesteel.spark.daemon"}
#: Of an executor, in bytes: Spark has no setting for it. It is shown by the REST API.
MANAGED_MEMORY: Final = "spark.firesteel.managed-memory"
_DYNAMIC: Final = "spark.dynamicAllocation."
#: An executor that has shuffle files is kept until they are forgotten, by default for ever. Those of an epoch
#: are of no use after it; the ones of a job that runs are kept in any case.
_SHUFFLES_KEPT: Final = {f"{_DYNAMIC}shuffleTracking.timeout": "60s"}
_LOCAL: Final = {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK}
_ADDRESSES: Final = ("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME")  # a user's own choice
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
# A JVM of jobs in real time does little else than hand rows on. What the second compiler gains there it costs
# first: a tenth of a core for minutes, half of all that the JVM computes for some million records.
_COMPILERS: Final = "TieredStopAtLevel"
# Without the figures that it writes down for others the JVM wakes up twenty times a second less.
_SPARING: Final = f"-XX:{_COMPILERS}=1 -XX:-UsePerfData"
_JAVA_TEMPORARY: Final = "java.io.tmpdir"
# Spark puts the sockets of its Python workers there; the path of a socket has at most 103 bytes.
_SOCKETS: Final = "spark.python.unix.domain.socket.dir"
_LONGEST_OF_SOCKETS: Final = 60
_SHORT: Final = "/tmp"
_LOG4J: Final = Path(__file__).with_name("log4j2.properties")


def session_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """All settings of a session, with what jobs in real time need, whichever is the first; ``conf``, which
    may name the master, wins over our defaults."""
    settings = {k: v for k, (v, _) in (STATIC | REAL_TIME).items()} | _OWN
    settings["spark.app.name"] = "firesteel"
    settings[SPARK_MASTER.key] = _with_threads(conf.get(SPARK_MASTER.key) or DEFAULT_MASTER, _THREADS)
    if settings[SPARK_MASTER.key].startswith("local"):
        settings |= DAEMON
    if has_executors(settings[SPARK_MASTER.key]) and _NETWORK not in conf:
        settings |= _REACHED
    if listens_here_only(conf):
        settings |= _LOCAL
    if settings[SPARK_MASTER.key].startswith("yarn"):
        settings[_SOCKETS] = _SHORT  # the directories for temporary files of its containers have long paths
    if conf.get(f"{_DYNAMIC}enabled", "").strip().lower() == "true":
        settings |= _SHUFFLES_KEPT
    settings |= {k: v for k, v in conf.items() if k.startswith("spark.") and k != SPARK_MASTER.key}
    java_options = settings.get(_JAVA_OPTIONS, "")
    if "log4j" not in java_options:
        settings[_JAVA_OPTIONS] = " ".join([java_options, *_log_options(conf)]).strip()
    return _with_temporary_files(settings)


def _with_temporary_files(settings: dict[str, str]) -> dict[str, str]:
    """Let the JVM put its temporary files, and those of Spark unless they have another place, below the
    directory of this process: a JVM that is killed removes nothing."""
    java_options = settings.get(_JAVA_OPTIONS, "")
    if _JAVA_TEMPORARY in java_options:
        return settings
    directory = str(named_directory("jvm"))
    option = shlex.quote(f"-D{_JAVA_TEMPORARY}={directory}")
    more = {_JAVA_OPTIONS: f"{java_options} {option}".strip()}
    if len(os.fsencode(directory)) > _LONGEST_OF_SOCKETS:
        more[_SOCKETS] = settings.get(_SOCKETS, _SHORT)
    return settings | more


def settings_of(
    configuration: Configuration, slots: int = 0, submitted: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a configuration says about the session.

    :param slots: of the first job, if it is one in real time, whose tasks run all at once; else 0.
    :param submitted: what ``spark-submit`` was told; the configuration wins over it, it wins over defaults.
    """
    said = dict(submitted or {})
    said |= {
        key: value
        for key, value in configuration.to_dict().items()
        if key.startswith("spark.") or key == SPARK_LOG.key
    }
    said |= executor_settings(configuration)
    said |= _heartbeats(configuration, said)
    if (budget := budget_of(configuration)) is not None:
        said[MANAGED_MEMORY] = str(budget.managed)
    return said if not slots else _for_real_time(said, slots)


def _heartbeats(configuration: Configuration, said: Mapping[str, str]) -> dict[str, str]:
    """Flink's heartbeats of executors as Spark's, which by themselves miss one after two or three minutes.
    They are empty for a local master: a computer that has slept has lost nothing.

    :raises ConfigurationError: an executor would be lost before it has said a word.
    """
    if not has_executors(said.get(SPARK_MASTER.key)):
        return {}
    interval, timeout = configuration.get(HEARTBEAT_INTERVAL), configuration.get(HEARTBEAT_TIMEOUT)
    if interval >= timeout:
        raise ConfigurationError(
            f"{HEARTBEAT_TIMEOUT.key} of {timeout} ms is not longer than {HEARTBEAT_INTERVAL.key} of "
            f"{interval} ms",
            hint="let executors speak several times before they count as lost",
        )
    found = {_LIVES: f"{interval}ms", _LOOKED_AT: f"{interval}ms"}
    if not any(key in said for key in _SILENT):
        found[_SILENT[0]] = f"{timeout}ms"
    return {key: value for key, value in found.items() if key not in said}


def _for_real_time(said: dict[str, str], slots: int) -> dict[str, str]:
    """The first job has little to compile, and may run for long on a part of a processor."""
    master = _with_threads(said.get(SPARK_MASTER.key) or DEFAULT_MASTER, max(slots, _THREADS))
    java_options = said.get(_JAVA_OPTIONS, "")
    if _COMPILERS not in java_options:
        java_options = f"{_SPARING} {java_options}".strip()
    return said | {SPARK_MASTER.key: master, _JAVA_OPTIONS: java_options}


def _with_threads(master: str, least: int) -> str:
    """``local[*]`` with so many threads at least: each task of a job in real time has one for good."""
    if (all_cores := _ALL_CORES.fullmatch(master)) is None:
        return master
    return f"local[{max(least, os.cpu_count() or 1)}{all_cores['rest'] or ''}]"


def of_the_jvm(settings: Mapping[str, str]) -> dict[str, str]:
    """What a JVM must have been started with for a session with these settings: not what the session says
    itself when it is made, nor what only makes the JVM of a job in real time a little cheaper."""
    found = dict(settings)
    if found.get(SPARK_MASTER.key, DEFAULT_MASTER).startswith("local["):
        found.pop(SPARK_MASTER.key, None)
    if _JAVA_OPTIONS in found:
        found[_JAVA_OPTIONS] = found[_JAVA_OPTIONS].replace(_SPARING, "").strip()
    return {key: value for key, value in found.items() if value}


def listens_here_only(conf: Mapping[str, str]) -> bool:
    """Whether all of Spark runs on this machine and nobody has chosen an address for it."""
    local = (conf.get(SPARK_MASTER.key) or DEFAULT_MASTER).startswith("local")
    return local and not any(map(os.environ.get, _ADDRESSES)) and not conf.keys() & _LOCAL.keys()


def log_file() -> Path:
    """Where Spark's own log is, unless it goes to the console."""
    return process_directory() / "spark.log"


def _log_options(conf: Mapping[str, str]) -> list[str]:
    where = (conf.get(SPARK_LOG.key) or "file").strip().lower()
    if where not in ("file", "console"):
        raise ConfigurationError(f"{SPARK_LOG.key} is file or console", detail=f"got {where!r}")
    options = [f"-Dlog4j2.configurationFile=file:{_LOG4J}", f"-Dfiresteel.log={where}"]
    return [*options, shlex.quote(f"-Dfiresteel.log.file={log_file()}")] if where == "file" else options
