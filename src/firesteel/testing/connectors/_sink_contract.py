"""What every sink must keep, as a test class to derive from."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.base import Sink
from firesteel.jobmanager.commits import SinkCommits
from firesteel.program.functions.legacy_connectors import SinkFunction, unwrap_sink
from firesteel.program.promises import SinkPromise
from firesteel.testing.connectors._drivers import KilledJob, run_drivers
from firesteel.testing.connectors._jobs import RoughEngine, running_on, small_epochs, write
from firesteel.testing.connectors._reading import content_of, require, same, shipped
from firesteel.testing.connectors._writing import SinkRun
from firesteel.testing.connectors.kill_points import KILL_POINTS, KillPoint

_STRENGTH: Final = {
    promise: strength
    for strength, promise in enumerate(
        (SinkPromise.NONE, SinkPromise.AT_LEAST_ONCE, SinkPromise.UPSERT, SinkPromise.EXACTLY_ONCE)
    )
}


class SinkContract:
    """Tests of a sink, found by pytest in a class that derives from this one and says what the sink is.

    >>> from firesteel.common import Encoder, Types
    >>> from firesteel.datastream.connectors import FileSink
    >>> class TestFiles(SinkContract):
    ...     type_info = Types.STRING()
    ...
    ...     def make_sink(self, directory):
    ...         return FileSink.for_row_format(str(directory), Encoder.simple_string_encoder()).build()
    ...
    ...     def read(self, directory):
    ...         parts = directory.rglob("part-*")
    ...         return [line for part in parts for line in part.read_text().splitlines()]

    Each test has an empty directory. Fixtures of the deriving class set up what else is needed, such as
    an empty table. (Flink: ``SinkTestSuiteBase``.)
    """

    promise: SinkPromise = SinkPromise.EXACTLY_ONCE
    #: The declared type of the stream.
    type_info: TypeInformation | None = None

    def make_sink(self, directory: Path) -> Any:
        """The sink under test: what ``sink_to`` or ``add_sink`` takes."""
        raise NotImplementedError("define make_sink(self, directory)")

    def read(self, directory: Path) -> list[Any]:
        """The records that an outsider sees, in any order."""
        raise NotImplementedError("define read(self, directory)")

    def record(self, number: int) -> Any:
        """The ``number``-th record, unlike all others, as ``read`` gives it back."""
        return f"record {number}"

    def kill_points(self) -> Mapping[str, KillPoint]:
        """Where else a driver may die: methods of the sink's own classes that every commit calls."""
        return {}

    # ---- the sink itself

    def test_a_sink_is_plain_data(self, tmp_path: Path) -> None:
        """It travels to other processes, and two drivers can use it."""
        directory = content_of(tmp_path)
        sink = shipped(self._sink(directory))
        sink.validate()
        require(
            _STRENGTH[sink.promise] <= _STRENGTH[self.promise],
            f"the sink promises more than is tested here: {sink.promise.value}, not {self.promise.value}; "
            "its property `promise` says so",
        )
        run, records = SinkRun(sink, tmp_path), self._records(6)
        run.commit([*run.stage(1, records[:4], 0), *run.stage(1, records[4:], 1)])
        run.finish()
        self._require_each_once(directory, records)

    def test_nothing_is_seen_before_its_commit_and_everything_after(self, tmp_path: Path) -> None:
        directory = content_of(tmp_path)
        run, records = SinkRun(self._sink(directory), tmp_path, 2), self._records(8)
        for epoch in (1, 2):
            part = records[4 * (epoch - 1) : 4 * epoch]
            staged = [*run.stage(epoch, part[:2], 0), *run.stage(epoch, part[2:], 1)]
            self._require_only(directory, records[: 4 * (epoch - 1)], "before its commit")
            run.commit(staged)
        run.finish()
        self._require_each_once(directory, records)

    def test_attempts_that_do_not_count_leave_nothing(self, tmp_path: Path) -> None:
        """Spark runs a task twice, at once or one after the other, and some attempts fail."""
        directory = content_of(tmp_path)
        run, records = SinkRun(self._sink(directory), tmp_path), self._records(4)
        run.leave_unfinished(1, records)
        first = run.stage(1, records)
        second = run.stage(1, records)
        run.leave_unfinished(1, records)
        require(
            same([c.payload for c in first], [c.payload for c in second]),
            "two attempts of a task with the same records have different committables: Spark runs more again "
            f"after a failure than it must: {first!r:.200} and {second!r:.200}",
        )
        self._require_only(directory, [], "before its commit")
        run.commit(second)
        run.finish()
        self._require_each_once(directory, records)

    def test_a_commit_may_come_again(self, tmp_path: Path) -> None:
        """From the same driver, and from the next one, which goes on from a checkpoint that was committed."""
        directory = content_of(tmp_path)
        run, records = SinkRun(self._sink(directory), tmp_path), self._records(4)
        staged = run.stage(1, records)
        run.commit(staged)
        run.commit(staged)
        run.restart()
        run.recover(staged)
        run.commit(staged, recovered=True)
        run.finish()
        self._require_each_once(directory, records)

    def test_what_a_lost_driver_staged_is_committed_when_its_checkpoint_holds_it(
        self, tmp_path: Path
    ) -> None:
        """And is dropped when it does not: its records come again, in epochs of the same numbers."""
        directory = content_of(tmp_path)
        lost, records = SinkRun(self._sink(directory), tmp_path, run="a"), self._records(8)
        kept = lost.stage(1, records[:4])
        lost.stage(2, records[4:])
        run = SinkRun(self._sink(directory), tmp_path, run="b")
        run.recover(kept)
        run.commit(kept, recovered=True)
        self._require_only(directory, records[:4], "that no checkpoint holds")
        run.commit(run.stage(2, records[4:]))
        dropped = run.stage(3, records[4:])
        run.recover((), dropped)
        run.finish()
        self._require_each_once(directory, records)

    # ---- in a job

    def test_a_job_whose_tasks_fail(self, tmp_path: Path) -> None:
        """Epochs are lost and run twice, tasks killed in the middle, processes lost."""
        directory, records = content_of(tmp_path), self._records(60)
        with running_on(partial(RoughEngine, 1)):
            env = small_epochs(tmp_path / "checkpoints", 2, 3)
            write(env, records, self.type_info, self.make_sink(directory))
            env.execute("contract")
        self._require_each_once(directory, records)

    def test_a_job_whose_drivers_are_killed(self, tmp_path: Path) -> None:
        """One at each kill point, each of which goes on from what the one before has left."""
        directory, records = content_of(tmp_path), self._records(120)
        commits = SinkRun(self._sink(directory), tmp_path).committer is not None
        points = {n: p for n, p in KILL_POINTS.items() if commits or p.owner is not SinkCommits}
        job = KilledJob(
            self.make_sink(directory),
            records,
            self.type_info,
            tmp_path / "checkpoints",
            {**self.kill_points(), **points},
        )
        ends = run_drivers(job, tmp_path)
        survivors = [name for name, end in ends.items() if name and end != -signal.SIGKILL]
        require(not survivors, f"no driver came to the kill point {survivors}")
        self._require_each_once(directory, records)

    # ---- inside

    def _records(self, count: int) -> list[Any]:
        return [self.record(number) for number in range(count)]

    def _sink(self, directory: Path) -> Sink:
        made = self.make_sink(directory)
        if isinstance(made, SinkFunction):
            return made.to_sink(self.type_info)
        sink = unwrap_sink(made, self.type_info)
        if not isinstance(sink, Sink):
            raise AssertionError(f"make_sink gives what sink_to or add_sink takes, not {made!r}")
        return sink

    def _require_only(self, directory: Path, allowed: Sequence[Any], what: str) -> None:
        if self.promise is not SinkPromise.EXACTLY_ONCE:
            return
        early = Counter(map(repr, self.read(directory))) - Counter(map(repr, allowed))
        require(not early, f"an outsider sees records {what}: {sorted(early)[:10]}")

    def _require_each_once(self, directory: Path, expected: Sequence[Any]) -> None:
        there, wanted = Counter(map(repr, self.read(directory))), Counter(map(repr, expected))
        lost, more = wanted - there, there - wanted
        require(not lost, f"lost are {sorted(lost)[:10]}")
        if self.promise is SinkPromise.AT_LEAST_ONCE:
            strange = there.keys() - wanted.keys()
            require(not strange, f"nobody wrote {sorted(strange)[:10]}")
        else:
            require(not more, f"more often than once there are {sorted(more)[:10]}")
