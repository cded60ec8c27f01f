"""An environment with an executor that only remembers what it was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.datastream import StreamExecutionEnvironment, _session_defaults
from firesteel.program.execution import set_executor
from firesteel.program.spark_tables import StagedFrame


class RememberingExecutor:
    """Stands in for the executor of the job manager: nothing runs."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str | None, list[Any]]] = []
        self.results: list[Any] = []
        self.closed = False

    def execute(self, env: Any, transformations: list[Any], job_name: str | None) -> JobExecutionResult:
        self.jobs.append((job_name, list(transformations)))
        return JobExecutionResult(JobID(), 7)

    def execute_async(self, env: Any, transformations: list[Any], job_name: str | None) -> str:
        self.jobs.append((job_name, list(transformations)))
        return "a job client"

    def collect(self, env: Any, transformations: list[Any], job_name: str | None, sink: Any) -> Iterator[Any]:
        assert transformations[-1] is sink
        self.jobs.append((job_name, list(transformations)))
        try:
            yield from self.results
        finally:
            self.closed = True

    def stream_graph(self, env: Any) -> Any:
        from firesteel.graph.generator import generate
        from firesteel.jobmanager.executor import graph_config

        return generate(env.transformations, graph_config(env, None))

    def execution_plan(self, env: Any) -> str:
        return f'{{"nodes": {len(env.transformations)}}}'

    def graph_svg(self, env: Any, end: Any) -> str:
        return f"<svg>{end.name}</svg>"

    def from_spark(self, env: Any, frame: Any) -> Any:
        return StagedFrame(SequenceSource(0, frame), "", None)

    def to_spark(self, env: Any, attach: Any) -> Any:
        schema = attach("somewhere")
        return ("a frame of", env._take_program()[-1].input, schema.names)


@pytest.fixture
def executor() -> Iterator[RememberingExecutor]:
    executor = RememberingExecutor()
    previous = set_executor(executor)
    yield executor
    set_executor(previous)


@pytest.fixture(autouse=True)
def no_outside_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(_session_defaults.CONF_VARIABLE, raising=False)
    _session_defaults.set_session_defaults({})
    yield
    _session_defaults.set_session_defaults({})


@pytest.fixture
def env(executor: RememberingExecutor) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(Configuration())
