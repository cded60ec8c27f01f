"""The executor of ``firesteel info``, which shows what would run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.masking import masked
from firesteel.graph.execution_graph import create_execution_graph
from firesteel.graph.explain import explain_all
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import create_job_graph
from firesteel.graph.levels import plan_levels
from firesteel.graph.plan_json import execution_plan_json, to_dict
from firesteel.graph.stream_graph import StreamGraph
from firesteel.jobmanager.executor import graph_config, graph_picture
from firesteel.program.execution import AttachStaging, Environment
from firesteel.program.sinks import CommitterContext
from firesteel.program.spark_tables import SparkTarget
from firesteel.program.transformations import SinkTransformation, Transformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PlanningExecutor:
    """Replaces the job manager's executor. Jobs end immediately, without results."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def stream_graph(self, env: Environment) -> StreamGraph:
        return generate(env.transformations, graph_config(env, None))

    def execution_plan(self, env: Environment) -> str:
        return execution_plan_json(self.stream_graph(env))

    def graph_svg(self, env: Environment, end: Transformation) -> str:
        return graph_picture(env, end)

    def execute(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobExecutionResult:
        stream = generate(transformations, graph_config(env, job_name))
        click.echo(masked(_as_json(stream) if self._as_json else explain_all(stream)))
        return JobExecutionResult(JobID(), 0)

    def execute_async(
        self, env: Environment, transformations: Sequence[Transformation], job_name: str | None
    ) -> JobClient:
        self.execute(env, transformations, job_name)
        raise UnsupportedFeatureError("firesteel info shows the job of execute_async and does not run it")

    def collect(
        self,
        env: Environment,
        transformations: Sequence[Transformation],
        job_name: str | None,
        sink: SinkTransformation,
    ) -> Iterator[object]:
        self.execute(env, transformations, job_name)
        return iter(())

    def from_spark(self, env: Environment, frame: DataFrame) -> NoReturn:
        raise _needs_spark("from_spark")

    def spark_tables(self, env: Environment) -> NoReturn:
        raise _needs_spark("tables of Spark")

    def to_spark(self, env: Environment, attach: AttachStaging) -> NoReturn:
        raise _needs_spark("to_spark")

    def table_committer(self, target: SparkTarget, context: CommitterContext) -> NoReturn:
        raise _needs_spark("write_spark")  # never called, as nothing runs

    def add_bootstrap(self, pickled: bytes) -> None:
        """Does nothing, as no worker is started."""


def _needs_spark(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"firesteel info does not start Spark: a program with {what} cannot be shown"
    )


def _as_json(stream: StreamGraph) -> str:
    job = create_job_graph(stream)
    graphs = {
        "stream_graph": stream,
        "job_graph": job,
        "levels": plan_levels(job),
        "execution_graph": create_execution_graph(job, graph_id="plan", now_ms=0),
    }
    return json.dumps({name: to_dict(graph) for name, graph in graphs.items()}, indent=2)
