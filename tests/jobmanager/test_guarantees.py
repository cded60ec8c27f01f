"""The matrix of sources, sinks and checkpoints: jobs that fail show no more than is promised, and no less."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.connectors import (
    CommitRequest,
    Committer,
    CommitterContext,
    ElementContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from firesteel.datastream.functions import SinkFunction
from firesteel.program.promises import Guarantee, SinkPromise, SourcePromise, end_to_end
from firesteel.program.sources import EnumeratorContext, ReadRange, Split, SplitEnumerator
from tests.jobmanager.checkpoint_support import env_with, submit
from tests.jobmanager.test_recovery import FIXED
from tests.runtime.support import LiveSource, SteppedClock, feed, feeds, note, notes
from tests.waiting import patience

UNMARKED = WatermarkStrategy.no_watermarks()

received: defaultdict[str, int] = defaultdict(int)  # records that some driver has received, by topic


class Promising(LiveSource):
    """Reads again after a failure as its promise says: all of it; the last record twice; or without what came
    while no driver was there, which a job without checkpoints begins behind."""

    def __init__(self, topic: str, kept: SourcePromise) -> None:
        super().__init__(topic)
        self.kept = kept

    def promise(self, checkpointing: bool) -> SourcePromise:
        return self.kept

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return Returning(self.topic, self.kept)


class Returning(SplitEnumerator):
    def __init__(self, topic: str, kept: SourcePromise) -> None:
        self._topic, self._kept = topic, kept
        self._reported = self._planned = False
        there = len(feeds[topic, 0])
        lossy = kept is SourcePromise.AT_MOST_ONCE and received[topic] > 0
        self._gap = (received[topic], there) if lossy else None

    def discover(self, now_ms: int) -> list[Split]:
        found = [] if self._reported else [Split(f"{self._topic}-0", (self._topic, 0))]
        self._reported = True
        return found

    @property
    def finished(self) -> bool:
        return self._reported

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        there = len(feeds[self._topic, 0])
        start = self._start(position)
        if there <= start:
            return None
        end = there if self._gap is None or start >= self._gap[1] else min(there, self._gap[0])
        self._planned = True
        received[self._topic] = max(received[self._topic], end)
        return ReadRange(split, start, max_records, max_bytes, end)

    def _start(self, position: int | None) -> int:
        if self._gap is not None and (position is None or position >= self._gap[0]):
            return max(self._gap[1], position or 0)
        if position and not self._planned and self._kept is SourcePromise.AT_LEAST_ONCE:
            return position - 1
        return position or 0


class Writes(SinkFunction):
    """At least once: shows each record as it comes."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic

    def invoke(self, value: Any, context: ElementContext) -> None:
        note(self.topic, value)


class Replaces(Writes):
    """Upsert: shows a record once, by its key."""

    def invoke(self, value: Any, context: ElementContext) -> None:
        if value not in notes[self.topic]:
            note(self.topic, value)


class Commits(Sink):
    """Exactly once: a transaction that is committed again changes nothing."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Staging(context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return Showing(self.topic)


class Staging(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self._name = context.transaction_id
        self._values: list[Any] = []

    def write(self, element: Any, context: ElementContext) -> None:
        self._values.append(element)

    def prepare_commit(self) -> list[Any]:
        return [(self._name, tuple(self._values))]


class Showing(Committer):
    def __init__(self, topic: str) -> None:
        self._topic = topic

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            name, values = request.get_committable()
            if name not in notes[f"{self._topic} transactions"]:
                note(f"{self._topic} transactions", name)
                for value in values:
                    note(self._topic, value)


class FailsOnce:
    """Fails at the record "x"; another record comes while no driver listens."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def __call__(self, value: Any) -> bool:
        if value == "x" and not notes[f"{self.topic} failed"]:
            note(f"{self.topic} failed", value)
            feed(self.topic, ("missed", 0))
            raise ValueError("x cannot be")
        return True


SINKS = {
    SinkPromise.EXACTLY_ONCE: "commits",
    SinkPromise.UPSERT: "replaces",
    SinkPromise.AT_LEAST_ONCE: "writes",
}


@pytest.mark.row("S-SINK-19", "S-FAIL-06", "S-FAIL-20", "S-CONN-23")
@pytest.mark.parametrize("checkpoints", [True, False], ids=["checkpoints", "none"])
@pytest.mark.parametrize("source", SourcePromise, ids=lambda promise: promise.name)
def test_what_is_shown_after_a_failure(
    tmp_path: Path, source: SourcePromise, checkpoints: bool, request: pytest.FixtureRequest
) -> None:
    topic = request.node.name
    clock = SteppedClock()
    env = env_with(1, tmp_path if checkpoints else None, clock=clock, **FIXED)
    stream = env.from_source(Promising(topic, source), UNMARKED, "live")
    values = stream.filter(FailsOnce(topic))
    values.add_sink(Writes(f"{topic} writes"))
    values.add_sink(Replaces(f"{topic} replaces"))
    values.sink_to(Commits(f"{topic} commits"))
    job = submit(env)
    for value, covered in (("a", True), ("b", False), ("x", False), ("c", True)):
        feed(topic, (value, 0))
        clock.tick(1_000)
        clock.tick(1_000)
        if covered:  # by a checkpoint
            clock.tick(9_000)
            clock.tick(1_000)
    assert job.view.restarts == 1
    job.cancel()
    assert job.wait(patience(10))
    for promise, name in SINKS.items():
        promised = end_to_end(source, promise, checkpoints=checkpoints)
        shown = Counter(notes[f"{topic} {name}"])
        lost = any(shown[value] == 0 for value in ("a", "b", "x", "missed", "c"))
        repeated = any(count > 1 for count in shown.values())
        assert lost <= promised.may_lose, (name, shown)
        assert repeated <= promised.may_repeat, (name, shown)
        assert lost == (source is SourcePromise.AT_MOST_ONCE), (name, shown)
        if promised is Guarantee.AT_LEAST_ONCE and promise is not SinkPromise.UPSERT:
            assert repeated, (name, shown)


@pytest.mark.row("S-FAIL-06", "S-CONN-23")
def test_a_source_that_cannot_be_read_again_is_named(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for source, words in (
        (SourcePromise.EXACTLY_ONCE, ""),
        (SourcePromise.AT_LEAST_ONCE, "it may give records again that a checkpoint covers (at least once)"),
        (SourcePromise.AT_MOST_ONCE, "what it sends while no driver listens is lost (at most once)"),
    ):
        caplog.clear()
        env = env_with(1, tmp_path, clock=SteppedClock())
        env.from_source(Promising(f"named {source}", source), UNMARKED, "telephone").print()
        job = submit(env)
        job.cancel()
        assert job.wait(patience(10))
        said = [r.getMessage() for r in caplog.records if "exactly-once is asked for" in r.getMessage()]
        assert len(said) == bool(words)
        assert all("telephone' cannot be read again" in text and words in text for text in said)


@pytest.mark.parametrize("settings", [{}, {"execution.checkpointing.mode": "AT_LEAST_ONCE"}])
def test_who_does_not_ask_for_exactly_once_is_not_warned(
    settings: dict[str, str], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    env = env_with(1, tmp_path if settings else None, clock=SteppedClock(), **settings)
    env.from_source(Promising("unasked", SourcePromise.AT_MOST_ONCE), UNMARKED, "telephone").print()
    job = submit(env)
    job.cancel()
    assert job.wait(patience(10))
    assert not [r for r in caplog.records if "exactly-once is asked for" in r.getMessage()]
