"""What ``env.execute()`` ends in: translate the program, deploy it on Spark, run it."""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from firesteel.common.clock import SystemClock
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, EngineLostError, UnsupportedFeatureError
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.logs import logger
from firesteel.common.options import firesteel as own, history, metrics, recovery, rest
from firesteel.common.options.checks import check
from firesteel.connectors.collect import CollectSink
from firesteel.graph.generator import generate, leading_to
from firesteel.graph.job_graph import JobGraph, create_job_graph
from firesteel.graph.levels import plan_levels
from firesteel.graph.picture import pictured
from firesteel.graph.plan_json import execution_plan_json
from firesteel.graph.stream_graph import GraphConfig, StreamGraph
from firesteel.jobmanager.admission import check_functions, check_graph
from firesteel.jobmanager.aftermath import clean_up_after
from firesteel.jobmanager.caches import DataSets, KeptStreams
from firesteel.jobmanager.checkpoints.results import JobFinishedBeforeError
from firesteel.jobmanager.collecting import Results, collect_parallelism
from firesteel.jobmanager.continuity import prepare
from firesteel.jobmanager.epochs import EpochEngine
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.handle import FinishedJobHandle, LocalJobHandle
from firesteel.jobmanager.job_info import job_info
from firesteel.jobmanager.job_master import JobMaster
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.jobs import LocalJobs
from firesteel.jobmanager.layout import Layout
from firesteel.jobmanager.modes import (
    OF_REAL_TIME,
    SPARE_SLOTS,
    check_epoch,
    must_be_real_time,
    real_time_options,
    refusal,
    wants_real_time,
    without_effect,
)
from firesteel.jobmanager.observer import JobObserver
from firesteel.jobmanager.options import job_options
from firesteel.jobmanager.requests import JobOutcome, Mailbox
from firesteel.jobmanager.shipping import script_dir, ship
from firesteel.jobmanager.translate import to_program
from firesteel.jobmanager.validation import notices
from firesteel.metrics.machines import Machines
from firesteel.program.execution import AttachStaging, Environment, KnownJob, register_engine
from firesteel.program.sinks import Committer, CommitterContext
from firesteel.program.spark_tables import SparkTables, SparkTarget, StagedFrame
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.runtime.program import WorkerFiles
from firesteel.runtime.worker import is_dedicated
from firesteel.state.backends import local_directory
from firesteel.storage.bounded_calls import bound_calls
from firesteel.storage.process_directory import named_directory, process_directory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logger(__name__)

_REST: Final = "firesteel.rest.application"
_MONITORING: Final = "firesteel.monitoring.application"
_ARCHIVES: Final = "firesteel.rest.archives.archivist"


class Platform(Protocol):
    """Where epochs run: Spark, or its in-process twin in tests."""

    @property
    def log(self) -> Path | None:
        """The file of the engine's own log; None where it goes elsewhere."""

    @property
    def shares_files(self) -> bool: ...

    def prepare(self, configuration: Configuration, handed_in: Any = None, slots: int = 0) -> Any:
        """:param slots: of a job in real time; 0: of one in epochs, which needs no certain number."""

    def why_not_real_time(self, slots: int, taken: int, *, must: bool) -> list[str]:
        """Why a job that needs so many slots cannot run in real time, a sentence for each reason.

        :param taken: slots of other jobs in real time of this process.
        :param must: the job runs in no other way.
        """

    def distribute(self, configuration: Configuration) -> WorkerFiles | None: ...

    def engine(self, job_id: str, job_name: str, script_dir: str) -> EpochEngine: ...

    def machines(self) -> Machines:
        """The processes that there are; none before ``prepare``."""

    def loss(self) -> EngineLostError | None:
        """What the death of the engine is as an error; None while it lives."""


def _log_start(job: JobView, engine_log: Path | None) -> None:
    log.info("job starts job=%s name=%s log=%s", job.job_id, job.name, engine_log or "-")


def _start_jvm(configuration: Configuration, slots: int) -> None:
    """While PySpark is imported and the job translated its JVM starts: no use once PySpark is there."""
    if "pyspark" not in sys.modules:
        from firesteel.spark.launch import start_early
        from firesteel.spark.settings import session_settings, settings_of

        start_early(session_settings(settings_of(configuration, slots)))


def _spark() -> Platform:
    if is_dedicated():
        raise UnsupportedFeatureError(
            "A job cannot be started inside of a function of another job.",
            detail="this is a worker process, and the driver has the engine",
            hint="join or connect the streams in one program, or run one job after the other",
        )
    from firesteel.spark.platform import SparkPlatform

    return SparkPlatform()


class Executor:
    """Runs programs in this process: the driver of the Spark application."""

    def __init__(self, make_platform: Callable[[], Platform] = _spark) -> None:
        self._make_platform = make_platform
        self.jobs = LocalJobs()
        self.data_sets = DataSets()
        self._bootstrap: list[bytes] = []
        self._taken: dict[str, int] = {}  # job id -> slots that a job in real time holds
        self.on_start: Callable[[JobView, Path | None], None] = _log_start
        self.archives_jobs = True  # whether it archives jobs that have ended, if a program wants it
        self.on_close: list[Callable[[], None]] = []

    # ---- translation, without Spark

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
        try:
            handle = self.submit(env, transformations, job_name)
        except JobFinishedBeforeError as e:
            log.warning("%s", e)
            return e.result.execution_result()
        try:
            return handle.result()
        except KeyboardInterrupt:
            handle.job.cancel()
            handle.job.wait(30)
            raise

    def execute_async(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobClient:
        try:
            return JobClient(self.submit(env, transformations, job_name))
        except JobFinishedBeforeError as e:
            log.warning("%s", e)
            return JobClient(FinishedJobHandle(e.result.execution_result()))

    def collect(
        self,
        env: Environment,
        transformations: Sequence[Transformation],
        job_name: str | None,
        sink: SinkTransformation,
    ) -> Iterator[Any]:
        results = Results()
        collecting = sink.sink
        assert isinstance(collecting, CollectSink)
        sink.parallelism = collect_parallelism(sink.input, env.get_parallelism())
        collecting.attach(results.put)

        def end() -> None:
            collecting.detach()
            results.end()

        results.handle = self.submit(env, transformations, job_name, end)
        return results

    def from_spark(self, env: Environment, frame: DataFrame) -> StagedFrame:
        """The rows of ``frame``, which Spark writes to the state directory."""
        from firesteel.spark.tables import stage_table

        self.platform.adopt(frame)
        return stage_table(frame, self._state_root(env.configuration))

    def spark_tables(self, env: Environment) -> SparkTables:
        from firesteel.spark.session_tables import SessionTables

        self.platform.prepare(env.configuration, env.spark)
        return SessionTables(lambda: self.platform.session)

    def to_spark(self, env: Environment, attach: AttachStaging) -> DataFrame:
        from firesteel.spark.tables import read_staged

        self.platform.prepare(env.configuration, env.spark)
        directory = f"{self._state_root(env.configuration)}/table-{JobID()}"
        schema = attach(directory)
        self.execute(env, env._take_program(), None)
        return read_staged(self.platform.session, schema, directory)

    def table_committer(self, target: SparkTarget, context: CommitterContext) -> Committer:
        """What commits the batches of ``write_spark``; Spark is running."""
        from firesteel.spark.table_sink import TableCommitter

        return TableCommitter(target, context, lambda: self.platform.session)

    def add_bootstrap(self, pickled: bytes) -> None:
        """A pickled callable that each worker process calls before it unpacks the code of a job."""
        if pickled not in self._bootstrap:
            self._bootstrap.append(pickled)

    def known_jobs(self) -> list[KnownJob]:
        return self.jobs.known()

    def job_client(self, job_id: str) -> JobClient | None:
        handle = self.jobs.handle(job_id)
        return None if handle is None else JobClient(handle)

    @property
    def running_jobs(self) -> tuple[JobGateway, ...]:
        return self.jobs.running

    @cached_property
    def platform(self) -> Any:
        return self._make_platform()

    def submit(
        self,
        env: Environment,
        transformations: Sequence[Transformation],
        job_name: str | None,
        on_end: Callable[[], None] | None = None,
    ) -> LocalJobHandle:
        """Start the program.

        :param on_end: called when its job has ended.
        :raises JobFinishedBeforeError: the job of the id that the configuration names has finished.
        """
        configuration: Configuration = env.configuration
        bound_calls(configuration)  # before anything is looked for in a storage
        check(configuration)
        self._serve(configuration)
        graph = create_job_graph(generate(transformations, graph_config(env, job_name)))
        root = _configured_root(configuration) or str(process_directory())
        kept = KeptStreams(transformations, root, self.data_sets, batch=graph.batch)
        if kept.sinks:
            program = [*transformations, *kept.sinks]
            graph = create_job_graph(generate(program, graph_config(env, job_name)))
        check_graph(graph, configuration)
        bounded = _is_bounded(graph)
        options = job_options(configuration, bounded=bounded, batch=graph.batch)
        slots = self._real_time_slots(configuration, graph, bounded)
        check_functions(graph)
        clock = env.clock or SystemClock()
        self._check_only_job(configuration)
        if self._make_platform is _spark and env.spark is None:
            # Not for a program that is refused; while PySpark is imported.
            _start_jvm(configuration, slots)
        self.platform.prepare(configuration, env.spark, slots)
        if slots and self._runs_in_real_time(configuration, slots):
            options = replace(options, real_time=real_time_options(configuration))
        try:
            job = prepare(
                configuration, graph, clock, lambda: self._state_root(configuration), self.jobs.running_ids
            )
        except JobFinishedBeforeError as e:
            job_id = e.result.job_id
            engine = partial(self.platform.engine, job_id, graph.name, script_dir())
            clean_up_after(JobID(job_id), graph, configuration, clock, engine)
            raise
        real_time = options.real_time is not None
        said = notices(configuration, job.graph, OF_REAL_TIME if real_time else ())
        for notice in said + (without_effect(configuration) if real_time else []):
            log.warning("%s", notice)
        placed = self.platform.distribute(configuration)
        local = configuration.get(own.LOCAL_DIR) or local_directory(configuration) or self._local_root()

        def lay_out(graph: JobGraph) -> Layout:
            plan = plan_levels(graph)
            code = to_program(str(job.job_id), graph, plan, configuration.to_dict())
            checkpointing = job.continuity.checkpoints.options
            info = job_info(str(job.job_id), graph, plan, configuration, checkpointing, job.files.root)
            return Layout(graph, plan, ship(code, job.files, self._bootstrap, placed), info)

        layout = lay_out(job.graph)
        mailbox = Mailbox()
        observer = JobObserver(
            layout.info,
            job.graph,
            clock,
            job.continuity.checkpoints.statistics,
            lambda: mailbox.waiting,
        )
        engine = self.platform.engine(str(job.job_id), job.graph.name, script_dir())
        run = JobMaster(
            job_id=job.job_id,
            layout=layout,
            lay_out=lay_out,
            engine=engine,
            files=job.files,
            clock=clock,
            options=replace(options, local_dir=local),
            continuity=job.continuity,
            live_jobs=lambda: self.jobs.running_ids,
            observer=observer,
            mailbox=mailbox,
            count_slots=lambda: self.platform.machines().slots,
            hold_slots=partial(self._hold_slots, str(job.job_id)),
            takes_epochs=not must_be_real_time(configuration),
        ).run

        def before_result(outcome: JobOutcome) -> None:
            kept.job_ended(outcome.status)
            self._archive(gateway.view, configuration)

        def ended() -> None:
            self._hold_slots(str(job.job_id), 0)
            if on_end is not None:
                on_end()
            shutil.rmtree(os.path.join(local, str(job.job_id)), ignore_errors=True)

        gateway = JobGateway(job.job_id, observer.published, mailbox, engine.cancel)
        try:
            self.on_start(gateway.view, self.platform.log)
            return self.jobs.start(gateway, run, before_result, ended)
        except BaseException:
            self._hold_slots(str(job.job_id), 0)
            raise

    def _hold_slots(self, job_id: str, slots: int) -> None:
        if slots:
            self._taken[job_id] = slots
        else:
            self._taken.pop(job_id, None)

    def _serve(self, configuration: Configuration) -> None:
        """Serve the REST API and report metrics if the program wants it; their rooms stand above this one, so
        by their names."""
        if configuration.contains(rest.PORT) or configuration.contains(rest.BIND_PORT):
            importlib.import_module(_REST).serve(self, configuration)
        if configuration.contains(metrics.REPORTERS) or configuration.get(metrics.REPORTER):
            importlib.import_module(_MONITORING).report(self, configuration)

    def _archive(self, job: JobView, configuration: Configuration) -> None:
        """For the history server; its room stands above this one, so by its name."""
        wanted = self.archives_jobs and configuration.get(history.ARCHIVE_DIR)
        if not wanted or not job.status.is_globally_terminal_state():
            return
        try:
            machines = self.platform.machines()
        except Exception as e:  # of Spark, which may have ended the job
            log.warning("the executors are not known: %s", e)
            machines = Machines()
        importlib.import_module(_ARCHIVES).archive_job(job, configuration, machines)

    def _real_time_slots(self, configuration: Configuration, graph: JobGraph, bounded: bool) -> int:
        """How many slots the job needs to run in real time; 0: it is to run in epochs."""
        check_epoch(configuration)
        if not wants_real_time(configuration, bounded=bounded, batch=graph.batch):
            return 0
        return plan_levels(graph).subtasks + SPARE_SLOTS

    def _runs_in_real_time(self, configuration: Configuration, slots: int) -> bool:
        must = must_be_real_time(configuration)
        reasons = self.platform.why_not_real_time(slots, sum(list(self._taken.values())), must=must)
        if reasons and must:
            raise refusal(reasons)
        if reasons:
            log.warning("the job runs in epochs, not in real time: %s", "; ".join(reasons))
        return not reasons

    def _check_only_job(self, configuration: Configuration) -> None:
        """A second job of one id would be taken for the first (Flink: one ``execute()`` for each program)."""
        job_id = (configuration.get(recovery.JOB_ID) or "").lower()
        if self.jobs.is_running(job_id) or self.jobs.has_finished(job_id):
            raise ConfigurationError(
                "A program with a job id of its own has one job, and this would be its second.",
                detail=f"{recovery.JOB_ID.key} is {job_id}, which this process "
                f"{'runs' if self.jobs.is_running(job_id) else 'has run to its end'} already",
                hint="call execute() once, or leave the id away",
            )

    def _state_root(self, configuration: Configuration) -> str:
        configured = _configured_root(configuration)
        if configured:
            return configured
        if not self.platform.shares_files:
            raise ConfigurationError(
                "A job on a cluster needs a directory that the driver and all workers reach",
                hint=f"set {own.STATE_DIR.key} to a shared path or a URI (s3://, gs://, hdfs://)",
            )
        return str(process_directory())

    def _local_root(self) -> str:
        """Where local stores lie when nothing is said of it."""
        if self.platform.shares_files:
            return str(named_directory("local"))
        return os.path.join(tempfile.gettempdir(), "firesteel-local")  # of each host

    def cancel_all(self) -> None:
        """End the jobs of this process."""
        self.jobs.cancel_all()

    def close(self) -> None:
        """End its jobs, and whatever was added to ``on_close``. It runs no more of them."""
        self.cancel_all()
        while self.on_close:
            self.on_close.pop()()


def _configured_root(configuration: Configuration) -> str:
    return (configuration.get(own.STATE_DIR) or "").rstrip("/")


def graph_picture(env: Environment, end: Transformation) -> str:
    """See ``firesteel.program.execution.Executor.graph_svg``."""
    return pictured(create_job_graph(leading_to([end], graph_config(env, None))))


def graph_config(env: Environment, job_name: str | None) -> GraphConfig:
    """What translation needs to know of an environment."""
    max_parallelism = env.get_max_parallelism()
    return GraphConfig(
        parallelism=env.get_parallelism(),
        max_parallelism=None if max_parallelism < 1 else max_parallelism,
        chaining=env.is_chaining_enabled(),
        chain_different_max_parallelism=env.is_chaining_of_operators_with_different_max_parallelism_enabled(),
        runtime_mode=env.get_runtime_mode(),
        job_name=job_name,
    )


def _is_bounded(graph: JobGraph) -> bool:
    return all(o.node.bounded for v in graph.vertices for o in v.operators)


executor = Executor()
register_engine(executor)
atexit.register(executor.cancel_all)
