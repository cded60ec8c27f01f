"""The cluster as a whole."""

from __future__ import annotations

import platform
import sys
import threading
import time
import traceback
from functools import cache
from importlib import metadata
from typing import Any, Final

from msgspec import Struct

from firesteel.common.job_status import JobStatus
from firesteel.common.masking import masked
from firesteel.monitoring.values import free_slots
from firesteel.rest.errors import RestError, not_found
from firesteel.rest.messages.base import Empty
from firesteel.rest.messages.cluster import (
    ClusterOverview,
    ConfigEntry,
    DashboardConfiguration,
    DataSet,
    DataSets,
    Environment,
    Features,
    Jvm,
    LogFile,
    LogFiles,
    Python,
    ThreadDump,
    ThreadInfo,
)
from firesteel.rest.messages.operations import OperationResult, OperationValue, Triggered
from firesteel.rest.routes import Call, Route, TextFile
from firesteel.version import __version__

#: Flink's clients want to know which Flink they talk to; what is behind it stands in the revision.
FLINK_VERSION: Final = "2.3.0"
REVISION: Final = f"firesteel-{__version__}"
_COUNTED: Final = {
    JobStatus.FINISHED: "finished",
    JobStatus.CANCELED: "cancelled",
    JobStatus.FAILED: "failed",
}
DATA_SET: Final = "data set deletion"


async def overview(call: Call) -> ClusterOverview:
    machines, views = await call.cluster.machines(), call.cluster.jobs()
    ended = [_COUNTED.get(view.status) for view in views if view.status.is_terminal_state()]
    return ClusterOverview(
        taskmanagers=len(machines.workers),
        slots_total=machines.slots,
        slots_available=free_slots(machines, views),
        jobs_running=len(views) - len(ended),
        jobs_finished=ended.count("finished"),
        jobs_cancelled=ended.count("cancelled"),
        jobs_failed=ended.count("failed"),
        flink_version=FLINK_VERSION,
        flink_commit=REVISION,
    )


def config(call: Call) -> DashboardConfiguration:
    settings = call.context.settings
    return DashboardConfiguration(
        refresh_interval=settings.refresh_ms,
        timezone_name=time.tzname[time.localtime().tm_isdst > 0],
        timezone_offset=time.localtime().tm_gmtoff * 1000,
        flink_version=FLINK_VERSION,
        flink_revision=REVISION,
        features=Features(
            web_submit=settings.submit and call.cluster.takes_programs,
            web_cancel=settings.cancel,
            web_rescale=True,
            web_history=False,
        ),
    )


def driver_config(call: Call) -> list[ConfigEntry]:
    return [ConfigEntry(key=key, value=value) for key, value in call.cluster.configuration]


async def environment(call: Call) -> Environment:
    jvm = (await call.cluster.machines()).jvm
    return Environment(
        jvm=Jvm(
            version="" if jvm is None else jvm.version,
            arch=platform.machine() if jvm is None else jvm.arch,
            options=[] if jvm is None else list(jvm.options),
        ),
        classpath=[] if jvm is None else list(jvm.classpath),
        python=_python(),
    )


@cache
def _python() -> Python:
    packages = {found.name: found.version for found in metadata.distributions() if found.name}
    return Python(version=sys.version, executable=sys.executable, packages=dict(sorted(packages.items())))


# ---- logs


class Tail(Struct, frozen=True):
    """``tail``: how many of the last bytes are wanted; ``offset``: those from there on."""

    tail: int | None = None
    offset: int | None = None


def text_of(call: Call, name: str, content: Any) -> TextFile:
    if content is None:
        raise not_found(f"There is no log {name}. The list of logs has the names.")
    return TextFile(content, call.query.tail, call.query.offset)


async def log_list(call: Call) -> LogFiles:
    return LogFiles(logs=[_file(log) for log in await call.cluster.logs(None)])


def _file(log: Any) -> LogFile:
    return LogFile(name=log.name, size=log.size, mtime=log.modified_ms)


async def log_file(call: Call) -> TextFile:
    name = call.parameters["filename"]
    return text_of(call, name, await call.cluster.log(None, name))


async def driver_log(call: Call) -> TextFile:
    """The largest of the logs: that of the engine where there is one."""
    logs = await call.cluster.logs(None)
    name = max(logs, key=lambda log: log.size).name if logs else ""
    return text_of(call, name, await call.cluster.log(None, name))


def driver_stdout(call: Call) -> TextFile:
    raise not_found(
        "The output of the program is not in a file: it goes to where the program was started. "
        "Redirect it there to keep it."
    )


def thread_dump(call: Call) -> ThreadDump:
    """The threads of the driver's Python."""
    frames = sys._current_frames()
    return ThreadDump(
        thread_infos=[
            ThreadInfo(
                thread_name=thread.name,
                stringified_thread_info=masked(
                    f'"{thread.name}" Id={thread.ident}\n'
                    + "".join(traceback.format_stack(frames[thread.ident]))
                ),
            )
            for thread in threading.enumerate()
            if thread.ident in frames
        ]
    )


# ---- data sets


async def data_sets(call: Call) -> DataSets:
    found = await call.cluster.data_sets()
    return DataSets(data_sets=[DataSet(id=data_set, is_complete=True) for data_set in found])


def delete_data_set(call: Call) -> Triggered:
    data_set = call.id("datasetid")

    async def delete() -> OperationValue:
        await call.cluster.drop_data_set(data_set)
        return OperationValue()

    return Triggered(request_id=call.context.operations.start(DATA_SET, "", None, delete))


def deleted_data_set(call: Call) -> OperationResult:
    return call.context.operations.result(DATA_SET, "", call.id("triggerid"))


# ---- the whole


async def shut_down(call: Call) -> Empty:
    await call.cluster.shut_down()
    return Empty()


def java_graph(call: Call) -> Empty:
    raise RestError(
        400,
        "A job graph of Java cannot run here: programs are Python. "
        "Run it by `firesteel run program.py`, or `firesteel run --pyflink` if it imports pyflink.",
    )


ROUTES: Final = (
    Route("GET", "/overview", overview, ClusterOverview, "Slots and jobs of the cluster."),
    Route("GET", "/config", config, DashboardConfiguration, "What the dashboard needs to know."),
    Route("GET", "/jobmanager/config", driver_config, list[ConfigEntry], "The settings of the cluster."),
    Route("GET", "/jobmanager/environment", environment, Environment, "The JVM and Python of the driver."),
    Route("GET", "/jobmanager/logs", log_list, LogFiles, "The logs of the driver."),
    Route("GET", "/jobmanager/logs/{filename}", log_file, None, "One of the logs as text.", query=Tail),
    Route("GET", "/jobmanager/log", driver_log, None, "The largest log of the driver as text.", query=Tail),
    Route("GET", "/jobmanager/stdout", driver_stdout, None, "Refused: there is no such file.", query=Tail),
    Route("GET", "/jobmanager/thread-dump", thread_dump, ThreadDump, "The threads of the driver's Python."),
    Route("GET", "/datasets", data_sets, DataSets, "The streams that jobs have kept."),
    Route("DELETE", "/datasets/{datasetid}", delete_data_set, Triggered, "Remove a kept stream.", status=202),
    Route(
        "GET", "/datasets/delete/{triggerid}", deleted_data_set, OperationResult, "What came of a removal."
    ),
    Route("DELETE", "/cluster", shut_down, Empty, "Cancel all jobs and end the cluster."),
    Route("POST", "/jobs", java_graph, Empty, "Refused: job graphs of Java cannot run here."),
)
