"""Task managers: the executors of Spark."""

from __future__ import annotations

from typing import Final

from firesteel.rest.answers import machines as answers
from firesteel.rest.errors import not_found, unknown_worker
from firesteel.rest.handlers.cluster import Tail, text_of
from firesteel.rest.messages.cluster import LogFile, LogFiles, ThreadDump
from firesteel.rest.messages.taskmanagers import TaskManager, TaskManagers
from firesteel.rest.routes import Call, Route, TextFile


async def task_managers(call: Call) -> TaskManagers:
    return answers.task_managers(await call.cluster.machines(), call.cluster.jobs())


async def task_manager(call: Call) -> TaskManager:
    machines = await call.cluster.machines()
    return answers.task_manager(call.parameters["taskmanagerid"], machines, call.cluster.jobs())


async def _known(call: Call) -> str:
    worker_id = call.parameters["taskmanagerid"]
    if (await call.cluster.machines()).worker(worker_id) is None:
        raise unknown_worker(worker_id)
    return worker_id


async def log_list(call: Call) -> LogFiles:
    logs = await call.cluster.logs(await _known(call))
    return LogFiles(logs=[LogFile(name=x.name, size=x.size, mtime=x.modified_ms) for x in logs])


async def log_file(call: Call) -> TextFile:
    worker_id, name = await _known(call), call.parameters["filename"]
    return text_of(call, name, await call.cluster.log(worker_id, name))


async def worker_log(call: Call) -> TextFile:
    """Spark's executors log to their standard error, and so do their Python workers."""
    return await _stream(call, "stderr")


async def worker_stdout(call: Call) -> TextFile:
    return await _stream(call, "stdout")


async def _stream(call: Call, name: str) -> TextFile:
    worker_id = await _known(call)
    logs = await call.cluster.logs(worker_id)
    known = {log.name for log in logs}
    if name == "stderr" and logs and name not in known:
        name = max(logs, key=lambda log: log.size).name  # the executor is the driver: that of Spark
    content = await call.cluster.log(worker_id, name)
    if content is None:
        raise not_found(
            f"There is no {name} of executor {worker_id} that can be read from here. Spark's standalone "
            "workers serve the logs of their executors; on YARN and Kubernetes the resource manager has "
            "them. In local mode the output of the program goes to where it was started."
        )
    return TextFile(content, call.query.tail, call.query.offset)


async def no_threads(call: Call) -> ThreadDump:
    worker_id = await _known(call)
    raise not_found(
        f"Nobody can ask the Python workers of executor {worker_id} for their threads. "
        "py-spy dump --pid PID shows them on their machine."
    )


_ONE: Final = "/taskmanagers/{taskmanagerid}"
ROUTES: Final = (
    Route("GET", "/taskmanagers", task_managers, TaskManagers, "All task managers."),
    Route("GET", _ONE, task_manager, TaskManager, "A task manager with its slots and its memory."),
    Route("GET", f"{_ONE}/logs", log_list, LogFiles, "Its logs, where they can be reached."),
    Route("GET", f"{_ONE}/logs/{{filename}}", log_file, None, "One of them as text.", query=Tail),
    Route("GET", f"{_ONE}/log", worker_log, None, "What it logs, as text.", query=Tail),
    Route("GET", f"{_ONE}/stdout", worker_stdout, None, "What it prints, as text.", query=Tail),
    Route("GET", f"{_ONE}/thread-dump", no_threads, ThreadDump, "Refused: nobody can ask for it."),
)
