"""A job of a cluster as its client sees it: its status, its end, the records that it collects."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

from firesteel.cluster.client import OURS, RequestRefusedError, RestClient
from firesteel.cluster.collecting import from_text
from firesteel.common.completable_future import CompletableFuture
from firesteel.common.errors import JobCancelledError, JobExecutionError, UnsupportedFeatureError
from firesteel.common.interrupts import interruptible
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.jobmanager.collecting import CollectedRecords
from firesteel.program.pickling import loads_block
from firesteel.rest.messages.submission import Collected, JobEnd

_WAIT_S: Final = 10.0  # how long the cluster may think about one question
_REMEMBERED: Final = 10_000  # blocks of collected records
_ENDED: Final = 409  # what is to be cancelled has ended by itself


class DetachedJobExecutionResult(JobExecutionResult):
    """What ``execute()`` returns for a job that nobody waits for."""

    def __init__(self, job_id: JobID) -> None:
        super().__init__(job_id, 0)

    def is_job_execution_result(self) -> bool:
        return False

    def get_net_runtime(self) -> int:
        raise self._unknown()

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        raise self._unknown()

    def get_all_accumulator_results(self) -> dict[str, Any]:
        raise self._unknown()

    def __str__(self) -> str:
        return f"Job has been submitted with JobID {self._job_id}"

    def _unknown(self) -> JobExecutionError:
        return JobExecutionError(
            "Job was submitted in detached mode. Results of job execution, such as accumulators, runtime, "
            "etc. are not available.",
            job_id=str(self._job_id),
        )


class RemoteJobHandle:
    """Implements ``firesteel.common.job_client.JobHandle``."""

    def __init__(
        self,
        client: RestClient | None,
        job_id: JobID,
        *,
        heartbeat_ms: int | None = None,
        patience_ms: int = 180_000,
        is_checkpointed: bool = False,
    ) -> None:
        self._client = client
        self._id = job_id
        self._heartbeat_ms = heartbeat_ms
        self._patience_ms = patience_ms
        self.is_checkpointed = is_checkpointed

    @property
    def job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return _later(lambda: JobStatus[self._rest().get(f"/v1/jobs/{self._id}/status")["status"]])

    def cancel(self) -> CompletableFuture[None]:
        def cancel() -> None:
            self._rest().send("PATCH", f"/v1/jobs/{self._id}?mode=cancel")
            self._end()

        return _later(cancel)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> CompletableFuture[str]:
        body = {"targetDirectory": savepoint_directory, "drain": advance_to_end_of_event_time}
        return _later(lambda: savepoint_location(self._rest(), str(self._id), "stop", body))

    def trigger_savepoint(self, savepoint_directory: str | None) -> CompletableFuture[str]:
        body = {"target-directory": savepoint_directory, "cancel-job": False}
        return _later(lambda: savepoint_location(self._rest(), str(self._id), "savepoints", body))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return _later(self._accumulators)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return _later(self.result)

    def result(self) -> JobExecutionResult:
        """Wait for the end of the job; raise what it failed with."""
        return self._result_of(self._end())

    def living(self) -> _Living:
        """While the block lasts the cluster is told that the client lives, if the job needs that."""
        return _Living(self._rest(), str(self._id), self._heartbeat_ms, self._patience_ms)

    def _accumulators(self) -> dict[str, Any]:
        end: JobEnd = self._rest().get(f"{OURS}/jobs/{self._id}/end", JobEnd)
        if end.ended:
            return _values(end)
        found = self._rest().get(f"/v1/jobs/{self._id}/accumulators")["user-task-accumulators"]
        return {accumulator["name"]: accumulator["value"] for accumulator in found}

    @interruptible()
    def _end(self) -> JobEnd:
        while True:
            end: JobEnd = self._rest().get(f"{OURS}/jobs/{self._id}/end", JobEnd, wait=_WAIT_S)
            if end.ended:
                return end

    def _result_of(self, end: JobEnd) -> JobExecutionResult:
        job_id = str(self._id)
        if end.status == JobStatus.FINISHED.name:
            return JobExecutionResult(self._id, end.runtime_ms, _values(end))
        if end.status == JobStatus.CANCELED.name:
            raise JobCancelledError(f"Job {job_id} was cancelled", job_id=job_id)
        trace = getattr(end.failure_cause, "stack_trace", None)
        raise JobExecutionError(f"Job {job_id} failed: it is {end.status}", job_id=job_id, detail=trace)

    def _rest(self) -> RestClient:
        if self._client is None:
            raise UnsupportedFeatureError(
                "A program that was handed in does not hear of its job any more.",
                hint="run it by `firesteel run -m HOST:PORT`",
            )
        return self._client


class _Living:
    def __init__(self, client: RestClient, job_id: str, every_ms: int | None, patience_ms: int) -> None:
        self._client = client
        self._path = f"/v1/jobs/{job_id}/clientHeartbeat"
        self._every_ms = every_ms
        self._patience_ms = patience_ms
        self._over = threading.Event()

    def __enter__(self) -> None:
        if self._every_ms is not None:
            threading.Thread(target=self._tell, daemon=True, name="firesteel-heartbeat").start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _tell(self) -> None:
        assert self._every_ms is not None
        while not self._over.wait(self._every_ms / 1000):
            until_ms = time.time_ns() // 1_000_000 + self._patience_ms
            try:
                self._client.send("PATCH", self._path, {"expiredTimestamp": until_ms})
            except RequestRefusedError:  # the job has ended, or is forgotten
                return


def savepoint_location(client: RestClient, job_id: str, how: str, body: dict[str, Any]) -> str:
    """Ask for a savepoint, and wait for it; its path.

    :raises JobExecutionError: there is none, and why.
    """
    path = f"/v1/jobs/{job_id}"
    number = client.post(f"{path}/{how}", body)["request-id"]
    return str(operation_value(client, f"{path}/savepoints/{number}")["location"])


def operation_value(client: RestClient, path: str) -> dict[str, Any]:
    """Wait for an operation, which the trigger id in ``path`` names; what came of it."""
    while True:
        found = client.get(path)
        if found["status"]["id"] == "COMPLETED":
            value: dict[str, Any] = found["operation"]
            cause = value.get("failure-cause")
            if cause is not None:
                raise _failure(cause["class"], cause["stack-trace"])
            return value
        time.sleep(0.2)


def _failure(kind: str, stack: str) -> JobExecutionError:
    """What is said of a failure: an error of ours says all there is to say, any other one with its stack."""
    *_, last = [None, *re.finditer(rf"^(?:([\w.]+)\.)?{re.escape(kind)}: ", stack, re.MULTILINE)]
    if last is not None and (last[1] or "").startswith("firesteel."):
        return JobExecutionError(stack[last.end() :].strip())
    return JobExecutionError(f"{kind}: the command failed", detail=stack)


def _values(end: JobEnd) -> dict[str, Any]:
    if not end.accumulators:
        return {}
    found = stored_accumulators.unpack(base64.b64decode(end.accumulators))
    return {name: accumulator.get_local_value() for name, accumulator in found.items()}


def _later(do: Callable[[], Any]) -> CompletableFuture[Any]:
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(do())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="firesteel-request").start()
    return CompletableFuture(future)


class RemoteRecords(CollectedRecords):
    """What a job collects; closing it cancels the job."""

    def __init__(self, client: RestClient, handle: RemoteJobHandle, sink: str, is_checkpointed: bool) -> None:
        super().__init__()
        self._client = client
        self._handle = handle
        self._path = f"{OURS}/jobs/{handle.job_id}/collected/{sink}"
        self._is_checkpointed = is_checkpointed
        self._generation = 0  # of the process that has collected the last
        self._first = 0
        self._seen: OrderedDict[tuple[int, int, str], None] = OrderedDict()
        self._waiting: list[bytes] = []
        self._is_last = False  # of what waits

    @property
    def handle(self) -> RemoteJobHandle:
        return self._handle

    def _wait(self, wait_s: float | None) -> None:
        if not self._waiting and not self._is_last:
            self._fetch(_WAIT_S if wait_s is None else min(wait_s, _WAIT_S))
        if self._waiting:
            self._come.extend(loads_block(self._waiting.pop(0)))
        self._ended = self._is_last and not self._waiting

    def _finish(self) -> None:
        self._handle.result()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._handle.cancel().result()
            except RequestRefusedError as error:
                if error.status != _ENDED:
                    raise

    @interruptible()
    def _fetch(self, wait_s: float) -> None:
        found: Collected = self._client.get(
            self._path, Collected, generation=self._generation, first=self._first, wait=wait_s
        )
        if self._generation not in (0, found.generation):
            self._check_new_process()
        self._generation = found.generation
        for text in found.batches:
            block = from_text(text)
            if block.key not in self._seen:
                self._waiting.append(block.data)
            self._seen[block.key] = None
            if len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
        self._first = found.first + len(found.batches)
        self._is_last = found.ended

    def _check_new_process(self) -> None:
        """The job has another process than before, whose records begin where its last checkpoint was."""
        if not self._is_checkpointed:
            raise JobExecutionError(
                "The job has started again from its beginning, and some of its records are known already.",
                job_id=str(self._handle.job_id),
                hint="give the job checkpoints: then it goes on where the last one was",
            )
