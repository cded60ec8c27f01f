"""What enumerators and committers of the user's raise on the driver fails the job with its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from firesteel.common.errors import CommitError, JobExecutionError
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors import CommitRequest, Committable, Committer, CommitterContext, Sink, SinkWriter
from firesteel.connectors.base import EnumeratorContext, ReadRange, Split, SplitEnumerator
from tests.runtime.faults import armed
from tests.runtime.faults.core import slip
from tests.runtime.support import SplitsSource, environment, local_platform
from tests.runtime.test_fault_places import KINDS


class Enumerator(SplitEnumerator):
    def __init__(self, source: SlippingSource, context: EnumeratorContext) -> None:
        self._inner = SplitsSource.create_enumerator(source, context)
        self._where = source.where

    def _at(self, where: str) -> None:
        if self._where == where:
            slip()

    def open(self) -> None:
        self._at("open")

    def discover(self, now_ms: int) -> list[Split]:
        self._at("discover")
        return self._inner.discover(now_ms)

    @property
    def finished(self) -> bool:
        self._at("finished")
        return self._inner.finished

    def plan(self, *arguments: Any) -> ReadRange | None:
        self._at("plan")
        return self._inner.plan(*arguments)

    def split_ended(self, split: Split) -> None:
        self._at("split_ended")

    def pending_records(self) -> Mapping[str, int]:
        return {}


class SlippingSource(SplitsSource):
    def __init__(self, where: str) -> None:
        super().__init__([(v, v) for v in range(9)])
        self.where = where

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return Enumerator(self, context)


class Writer(SinkWriter):
    def write(self, element: Any, context: Any) -> None: ...

    def prepare_commit(self) -> list[Any]:
        return [1]


class SlippingCommitter(Committer):
    def __init__(self, where: str) -> None:
        self._where = where

    def _at(self, where: str) -> None:
        if self._where == where:
            slip()

    def open(self) -> None:
        self._at("open")

    def pre_commit(self, committables: Sequence[Committable]) -> Sequence[Committable]:
        self._at("pre_commit")
        return committables

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        self._at("commit")

    def finish(self) -> None:
        self._at("finish")


@dataclass(frozen=True)
class SlippingSink(Sink):
    where: str

    def create_writer(self, context: Any) -> SinkWriter:
        return Writer()

    def create_committer(self, context: CommitterContext) -> Committer | None:
        return None if self.where == "nowhere" else SlippingCommitter(self.where)


def execute(source: str = "", sink: str = "committer") -> None:
    with local_platform():
        env = environment(1, restart_strategy_type="none")
        stream = env.from_source(SlippingSource(source), WatermarkStrategy.no_watermarks(), "reads")
        stream.sink_to(SlippingSink(sink)).name("writes")
        env.execute("faulty")


def failure_of(run: Callable[[], None], error: BaseException) -> JobExecutionError:
    armed.arm(1, error)
    with pytest.raises(JobExecutionError) as failure:
        run()
    assert armed.calls, "the place is never reached"
    return failure.value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("where", ["open", "discover", "finished", "plan", "split_ended"])
def test_an_enumerator_that_fails(where: str, kind: type[BaseException]) -> None:
    failure = failure_of(lambda: execute(source=where), kind("slipped"))
    assert type(failure.__cause__) is kind
    assert failure.operator == "Source: reads"
    assert f"{kind.__name__}: slipped" in str(failure)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("where", ["open", "pre_commit", "commit", "finish"])
def test_a_committer_that_fails(where: str, kind: type[BaseException]) -> None:
    failure = failure_of(lambda: execute(sink=where), kind("slipped"))
    commit = failure.__cause__
    assert isinstance(commit, CommitError)
    assert commit.operator == "Sink: writes"
    assert type(commit.__cause__) is kind


def test_committables_without_a_committer_are_refused() -> None:
    with pytest.raises(JobExecutionError, match=r"create_committer\(\) returns None"):
        execute(sink="nowhere")
