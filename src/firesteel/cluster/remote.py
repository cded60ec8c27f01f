"""The executor of a client: builds graphs here, and lets a cluster run them."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from firesteel.cluster.client import RequestRefusedError, RestClient
from firesteel.cluster.collecting import from_text
from firesteel.cluster.program_files import CODE, Carried, code_archive, named_files, script_path
from firesteel.cluster.shipped import collecting, pack
from firesteel.common.completable_future import CompletableFuture
from firesteel.common.configuration import Configuration
from firesteel.common.errors import JobCancelledError, JobExecutionError, UnsupportedFeatureError
from firesteel.common.interrupts import interruptible
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.common.logs import logger
from firesteel.common.options import checkpointing, cluster as options, recovery
from firesteel.common.options.checks import check
from firesteel.common.typeinfo import TypeInformation
from firesteel.graph import create_job_graph, execution_plan_json, generate, plan_levels
from firesteel.graph.stream_graph import StreamGraph
from firesteel.jobmanager.admission import check_functions, check_graph
from firesteel.jobmanager.checkpoints import accumulators as stored_accumulators
from firesteel.jobmanager.checkpoints.options import LATEST
from firesteel.jobmanager.executor import graph_config
from firesteel.jobmanager.job_info import vertex_infos
from firesteel.program.execution import Environment, KnownJob
from firesteel.program.pickling import loads_block
from firesteel.program.sinks import Committer, CommitterContext
from firesteel.program.sources import Source
from firesteel.program.spark_tables import SparkTarget
from firesteel.program.transformations import CacheTransformation, SinkTransformation, Transformation
from firesteel.rest.messages.submission import Collected, JobEnd, Missing, ShippedFile, Submission, Submitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logger(__name__)

_WAIT_S: Final = 10.0  # how long the cluster may think about one question
_REMEMBERED: Final = 10_000  # blocks of collected records
_ENDED: Final = 409  # what is to be cancelled has ended by itself
_OURS: Final = "/firesteel/v1"


class Door(Protocol):
    """Where jobs are handed in."""

    def missing(self, digests: Sequence[str]) -> list[str]: ...

    def put(self, digest: str, content: bytes) -> None: ...

    def submit(self, submission: Submission) -> None: ...


class RestDoor:
    """The door of a cluster, by its REST API."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def missing(self, digests: Sequence[str]) -> list[str]:
        answer: Missing = self._client.post(f"{_OURS}/blobs", {"digests": list(digests)}, Missing)
        return answer.digests

    def put(self, digest: str, content: bytes) -> None:
        self._client.send("PUT", f"{_OURS}/blobs/{digest}", content)

    def submit(self, submission: Submission) -> None:
        self._client.send("POST", f"{_OURS}/jobs", submission, Submitted)


class RemoteExecutor:
    """Implements ``firesteel.program.execution.Executor``.

    :param client: None: the cluster is only handed jobs, and nobody asks what becomes of them.
    :param job_id: of the first job; None: any.
    :param on_submit: called with the id and the name of each job.
    """

    def __init__(
        self,
        door: Door,
        client: RestClient | None,
        *,
        detached: bool = False,
        job_id: str | None = None,
        on_submit: Callable[[str, str], None] = lambda job_id, name: None,
        on_wait: Callable[[str], None] = lambda job_id: None,
    ) -> None:
        self._door = door
        self._client = client
        self._detached = detached or client is None
        self._job_id = job_id
        self._on_submit = on_submit
        self._on_wait = on_wait
        self._bootstrap: list[bytes] = []

    # ---- translation

    def stream_graph(self, env: Environment) -> StreamGraph:
        return generate(env.transformations, graph_config(env, None))

    def execution_plan(self, env: Environment) -> str:
        return execution_plan_json(self.stream_graph(env))

    # ---- running

    def execute(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobExecutionResult:
        handle = self._submit(env, transformations, job_name)
        if self._detached:
            return DetachedJobExecutionResult(handle.job_id)
        self._on_wait(str(handle.job_id))
        with handle.living():
            return handle.result()

    def execute_async(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobClient:
        return JobClient(self._submit(env, transformations, job_name))

    def collect(
        self,
        env: Environment,
        transformations: Sequence[Transformation],
        job_name: str | None,
        sink: SinkTransformation,
    ) -> Iterator[Any]:
        if self._client is None:
            raise UnsupportedFeatureError(
                "Nobody is there to take what execute_and_collect() gives: the program was handed in.",
                hint="write the stream to a sink, or run the program by `firesteel run -m HOST:PORT`",
            )
        handle = self._submit(env, transformations, job_name)
        (collected,) = collecting((sink,))
        return RemoteRecords(self._client, handle, collected.id, handle.is_checkpointed)

    def from_spark(self, env: Environment, frame: DataFrame) -> tuple[Source, TypeInformation | None]:
        raise _needs_spark("from_spark")

    def to_spark(self, env: Environment, transformation: Transformation) -> NoReturn:
        raise _needs_spark("to_spark")

    def table_committer(self, target: SparkTarget, context: CommitterContext) -> Committer:
        raise _needs_spark("write_spark")

    def add_bootstrap(self, pickled: bytes) -> None:
        if pickled not in self._bootstrap:
            self._bootstrap.append(pickled)

    # ---- its jobs

    def known_jobs(self) -> list[KnownJob]:
        if self._client is None:
            return []
        found = self._client.get("/v1/jobs/overview")["jobs"]
        return [KnownJob(job["jid"], job["name"], job["state"], job["start-time"]) for job in found]

    def job_client(self, job_id: str) -> JobClient | None:
        known = any(job.job_id == job_id for job in self.known_jobs())
        return JobClient(RemoteJobHandle(self._client, JobID(job_id))) if known else None

    # ---- submitting

    def _submit(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> RemoteJobHandle:
        configuration = env.configuration
        check(configuration)
        _check_remote(env, transformations)
        _warn_of_spark(configuration)
        graph = create_job_graph(generate(transformations, graph_config(env, job_name)))
        check_graph(graph, configuration)
        check_functions(graph)
        carried = list(_carried(configuration))
        program = pack(env, transformations, self._bootstrap)
        job_id = JobID(self._job_id or configuration.get(recovery.JOB_ID))
        self._job_id = None
        script = script_path()
        collects = tuple(sink.id for sink in collecting(transformations))
        waits = not self._detached and configuration.get(options.SHUTDOWN_ON_EXIT)
        submission = Submission(
            job_id=str(job_id),
            name=graph.name,
            program=_digest(program),
            batch=graph.batch,
            vertices=vertex_infos(graph, plan_levels(graph)),
            settings=configuration.to_dict(),
            files=tuple(found.file for found in carried),
            script=None if script is None else script.name,
            collects=collects,
            client_timeout_ms=configuration.get(options.HEARTBEAT_TIMEOUT) if waits else None,
        )
        contents = {found.file.digest: found.content for found in carried} | {submission.program: program}
        for digest in self._door.missing(list(contents)):
            self._door.put(digest, contents[digest])
        self._door.submit(submission)
        self._on_submit(str(job_id), graph.name)
        interval_ms = configuration.get(options.HEARTBEAT_INTERVAL)
        return RemoteJobHandle(
            self._client,
            job_id,
            heartbeat_ms=interval_ms if waits else None,
            patience_ms=configuration.get(options.HEARTBEAT_TIMEOUT),
            is_checkpointed=configuration.contains(checkpointing.INTERVAL),
        )


def _check_remote(env: Environment, transformations: Sequence[Transformation]) -> None:
    """Refuse what a cluster cannot do for a client."""
    if env.spark is not None:
        raise _needs_spark("a session that was handed in")
    if env.clock is not None:
        raise UnsupportedFeatureError("A clock of the program's own does not reach the cluster")
    if (env.configuration.get(recovery.PATH) or "") == LATEST:
        raise UnsupportedFeatureError(
            "A job on a session cluster cannot begin with the latest checkpoint of its name.",
            hint="name the path; the cluster itself goes on from the latest checkpoint of each of its jobs",
        )
    waiting, seen = list(transformations), set()
    while waiting:
        transformation = waiting.pop()
        if id(transformation) in seen:
            continue
        seen.add(id(transformation))
        if isinstance(transformation, CacheTransformation):
            raise UnsupportedFeatureError(
                "Streams are not kept for later jobs (cache()) on a session cluster.",
                hint="leave cache() out, or run the program by itself: `firesteel run program.py`",
            )
        waiting += transformation.inputs


def _warn_of_spark(configuration: Configuration) -> None:
    """What a job says of a Spark that runs already."""
    late = sorted(key for key in configuration.key_set() if key.startswith("spark."))
    if late:
        log.warning("of no effect on a cluster, which has its Spark already: %s", ", ".join(late))


def _carried(configuration: Configuration) -> Iterator[Carried]:
    code = code_archive()
    if code is not None:
        yield _named(Carried(ShippedFile(CODE, "", "code"), code))
    for found in named_files(configuration):
        yield _named(found)


def _named(found: Carried) -> Carried:
    file = found.file
    named = ShippedFile(file.name, _digest(found.content), file.kind, file.target, file.executable)
    return Carried(named, found.content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _needs_spark(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"A client of a cluster has no Spark of its own: a program with {what} cannot be handed in.",
        hint="run it by itself: `firesteel run program.py`",
    )


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
        end: JobEnd = self._rest().get(f"{_OURS}/jobs/{self._id}/end", JobEnd)
        if end.ended:
            return _values(end)
        found = self._rest().get(f"/v1/jobs/{self._id}/accumulators")["user-task-accumulators"]
        return {accumulator["name"]: accumulator["value"] for accumulator in found}

    @interruptible()
    def _end(self) -> JobEnd:
        while True:
            end: JobEnd = self._rest().get(f"{_OURS}/jobs/{self._id}/end", JobEnd, wait=_WAIT_S)
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
                raise JobExecutionError(f"{cause['class']}: the command failed", detail=cause["stack-trace"])
            return value
        time.sleep(0.2)


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


class RemoteRecords(Iterator[Any]):
    """What a job collects; closing it cancels the job."""

    def __init__(self, client: RestClient, handle: RemoteJobHandle, sink: str, is_checkpointed: bool) -> None:
        self._client = client
        self._handle = handle
        self._path = f"{_OURS}/jobs/{handle.job_id}/collected/{sink}"
        self._is_checkpointed = is_checkpointed
        self._generation = 0  # of the process that has collected the last
        self._first = 0
        self._seen: OrderedDict[tuple[int, int, str], None] = OrderedDict()
        self._batch: Iterator[Any] = iter(())
        self._waiting: list[bytes] = []
        self._ended = self._closed = False

    @property
    def handle(self) -> RemoteJobHandle:
        return self._handle

    def __next__(self) -> Any:
        while True:
            for record in self._batch:
                return record
            if self._closed:
                raise StopIteration
            if self._waiting:
                self._batch = iter(loads_block(self._waiting.pop(0)))
            elif self._ended:
                self._closed = True
                self._handle.result()  # raises when the job failed
                raise StopIteration
            else:
                self._fetch()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._handle.cancel().result()
            except RequestRefusedError as error:
                if error.status != _ENDED:
                    raise

    @interruptible()
    def _fetch(self) -> None:
        found: Collected = self._client.get(
            self._path, Collected, generation=self._generation, first=self._first, wait=_WAIT_S
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
        self._ended = found.ended

    def _check_new_process(self) -> None:
        """The job has another process than before, whose records begin where its last checkpoint was."""
        if not self._is_checkpointed:
            raise JobExecutionError(
                "The job has started again from its beginning, and some of its records are known already.",
                job_id=str(self._handle.job_id),
                hint="give the job checkpoints: then it goes on where the last one was",
            )
