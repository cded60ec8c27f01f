"""The executor of a client: builds graphs here, and lets a cluster run them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from firesteel.cluster.client import OURS, RestClient
from firesteel.cluster.program_files import CODE, Carried, code_archive, named_files, script_path
from firesteel.cluster.remote_job import DetachedJobExecutionResult, RemoteJobHandle, RemoteRecords
from firesteel.cluster.shipped import collecting, pack
from firesteel.common.configuration import Configuration
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.common.options import checkpointing, cluster as options, recovery
from firesteel.common.options.checks import check
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import create_job_graph
from firesteel.graph.levels import plan_levels
from firesteel.graph.plan_json import execution_plan_json
from firesteel.graph.stream_graph import StreamGraph
from firesteel.jobmanager.admission import check_functions, check_graph
from firesteel.jobmanager.checkpoints.options import LATEST
from firesteel.jobmanager.executor import graph_config, graph_picture
from firesteel.jobmanager.job_info import vertex_infos
from firesteel.program.execution import AttachStaging, Environment, KnownJob
from firesteel.program.sinks import Committer, CommitterContext
from firesteel.program.spark_tables import SparkTarget
from firesteel.program.transformations import CacheTransformation, SinkTransformation, Transformation
from firesteel.rest.messages.submission import Missing, ShippedFile, Submission, Submitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logger(__name__)


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
        answer: Missing = self._client.post(f"{OURS}/blobs", {"digests": list(digests)}, Missing)
        return answer.digests

    def put(self, digest: str, content: bytes) -> None:
        self._client.send("PUT", f"{OURS}/blobs/{digest}", content)

    def submit(self, submission: Submission) -> None:
        self._client.send("POST", f"{OURS}/jobs", submission, Submitted)


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

    def graph_svg(self, env: Environment, end: Transformation) -> str:
        return graph_picture(env, end)

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

    def from_spark(self, env: Environment, frame: DataFrame) -> NoReturn:
        raise _needs_spark("from_spark")

    def spark_tables(self, env: Environment) -> NoReturn:
        raise _needs_spark("tables of Spark")

    def to_spark(self, env: Environment, attach: AttachStaging) -> NoReturn:
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
