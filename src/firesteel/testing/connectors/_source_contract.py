"""What every source must keep, as a test class to derive from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from firesteel.common.errors import JobCancelledError, JobExecutionError
from firesteel.common.job_client import JobClient
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.base import Boundedness, Source
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.program.functions.legacy_connectors import unwrap_source
from firesteel.testing.connectors._jobs import (
    DriverLostError,
    DyingEngine,
    Ledger,
    running_on,
    small_epochs,
    wait_for,
)
from firesteel.testing.connectors._reading import BYTES, MANY, SourceRun, content_of, require, shipped

# Drivers of one job, one after the other: parallelism, and how many epochs they live.
_FOR_EVER: Final = 1 << 30
_DRIVERS: Final = ((1, 2), (3, 2), (2, _FOR_EVER))


class SourceContract:
    """Tests of a source, found by pytest in a class that derives from this one and says what the source is.

    >>> class TestNumbers(SourceContract):
    ...     def produce(self, directory, portion):
    ...         return list(range(10))
    ...
    ...     def make_source(self, directory):
    ...         return NumberSequenceSource(0, 9)

    Each test has an empty directory and calls ``produce`` with portion 0, then ``make_source``. Fixtures
    of the deriving class set up what else is needed, such as a server. (Flink: ``SourceTestSuiteBase``.)
    """

    #: False for a source whose records are gone when they were read once (a socket): what a lost driver had
    #: read and not logged may be lost, so drivers end only when all that was produced is committed.
    can_be_read_again: bool = True

    def produce(self, directory: Path, portion: int) -> list[Any]:
        """Put some records (three or more) where the source reads them, and return them as the source is to
        give them.

        :param portion: 0: before the source is made; of a bounded source that is all. 1, 2 ...: while an
            unbounded one is read; here something new may come up, a file, a partition.
        """
        raise NotImplementedError("define produce(self, directory, portion)")

    def make_source(self, directory: Path) -> Any:
        """The source under test: what ``from_source`` takes. Called anew for each driver of a job."""
        raise NotImplementedError("define make_source(self, directory)")

    # ---- the source itself

    def test_a_source_is_plain_data(self, tmp_path: Path) -> None:
        """It, its reader and its splits travel to other processes, and it can be used again after that."""
        directory = content_of(tmp_path)
        expected = self.produce(directory, 0)
        source = shipped(self._source(directory))
        source.validate()
        require(isinstance(source.boundedness, Boundedness), "boundedness is a Boundedness")
        most = source.max_parallelism
        require(most is None or most >= 1, f"max_parallelism is None or at least 1, got {most!r}")
        with SourceRun(source, tmp_path) as run:
            _read_all(run, expected)
        _require_equal(run.values, expected, "of what was produced")

    def test_a_range_gives_the_same_records_again(self, tmp_path: Path) -> None:
        """Also when more has come meanwhile; from each position, in pieces, by one reader in any order."""
        directory = content_of(tmp_path)
        expected = self.produce(directory, 0)
        with SourceRun(self._source(directory), tmp_path, 3) as run:
            _read_all(run, expected)
            run.check_replay()
            if run.source.boundedness is not Boundedness.BOUNDED:
                self.produce(directory, 1)
                run.epoch()
                run.check_replay()

    def test_an_epoch_reads_no_more_than_its_budget_of_records(self, tmp_path: Path) -> None:
        """A backlog is cut, and the smallest budget gets on."""
        self._check_budget(tmp_path, 2, BYTES)

    def test_an_epoch_reads_about_as_many_bytes_as_its_budget(self, tmp_path: Path) -> None:
        """What a byte is to a source is its own affair, but even one of them gets on."""
        self._check_budget(tmp_path, MANY, 1)

    def test_splits_and_positions_survive_a_restore(self, tmp_path: Path) -> None:
        """A new enumerator goes on from the state of the old one, with more or fewer tasks."""
        directory = content_of(tmp_path)
        expected = self.produce(directory, 0)
        with SourceRun(self._source(directory), tmp_path, 2) as run:
            for parallelism in (2, 3, 1):
                run.read(len(expected), max_records=1, epochs=2)
                run.restart(parallelism)
            _read_all(run, expected)
            _require_equal(run.values, expected, "when its enumerator is restored")

    def test_a_bounded_source_ends_and_an_unbounded_one_goes_on(self, tmp_path: Path) -> None:
        directory = content_of(tmp_path)
        expected = self.produce(directory, 0)
        with SourceRun(self._source(directory), tmp_path) as run:
            if run.source.boundedness is Boundedness.BOUNDED:
                run.read()
                require(run.epoch() == 0, "something is planned of a source that has ended")
            else:
                for portion in (1, 2):
                    run.read(len(expected))
                    require(not run.has_ended, "an unbounded source has ended")
                    expected = expected + self.produce(directory, portion)
                run.read(len(expected))
            _require_equal(run.values, expected, "from its beginning to its end")

    # ---- in a job

    def test_a_job_reads_each_record_once_whatever_fails(self, tmp_path: Path) -> None:
        """Epochs are lost and run twice, tasks killed, and three drivers go on from each other's checkpoints
        with another parallelism each."""
        ledger = Ledger()
        directory = content_of(tmp_path)
        expected = self.produce(directory, 0)
        bounded = self._source(directory).boundedness is Boundedness.BOUNDED
        for number, (parallelism, life) in enumerate(_DRIVERS):
            if number and not bounded:
                expected = expected + self.produce(directory, number)
            engine = partial(DyingEngine, number, life if self.can_be_read_again else _FOR_EVER)
            with running_on(engine):
                env = small_epochs(tmp_path / "checkpoints", parallelism, 2)
                self._read_into(ledger, env, directory)
                client = env.execute_async("contract")
                if _lives_to_its_end(client, bounded, lambda: len(ledger.values) >= len(expected)):  # noqa: B023
                    break
        _require_equal(ledger.values, expected, "in a job whose tasks and drivers fail")

    # ---- inside

    def _check_budget(self, tmp_path: Path, records: int, size: int) -> None:
        directory = content_of(tmp_path)
        expected = self.produce(directory, 0)
        with SourceRun(self._source(directory), tmp_path) as run:
            _read_all(run, expected, records, size)
        _require_equal(run.values, expected, f"with {records} records and {size} bytes in an epoch")

    def _source(self, directory: Path) -> Source:
        source = unwrap_source(self.make_source(directory))
        if not isinstance(source, Source):
            raise AssertionError(f"make_source gives what from_source takes, not {source!r}")
        return source

    def _read_into(self, ledger: Ledger, env: StreamExecutionEnvironment, directory: Path) -> None:
        stream = env.from_source(self.make_source(directory), WatermarkStrategy.no_watermarks(), "source")
        most = self._source(directory).max_parallelism
        stream.set_parallelism(min(env.get_parallelism(), most or _FOR_EVER)).uid("source")
        stream.rebalance().sink_to(ledger).uid("ledger")


def _read_all(
    run: SourceRun, expected: Sequence[Any], max_records: int = MANY, max_bytes: int = BYTES
) -> None:
    """Until a bounded source ends; until an unbounded one has given as many records as there are."""
    bounded = run.source.boundedness is Boundedness.BOUNDED
    run.read(None if bounded else len(expected), max_records, max_bytes)


def _lives_to_its_end(client: JobClient, bounded: bool, enough: Callable[[], bool]) -> bool:
    """Let a driver live until it dies, or has done all there is; whether the job has ended by itself.

    :param enough: a job over an unbounded source has done all there is.
    """
    wait_for(client, lambda: not bounded and enough())
    client.cancel().result()
    try:
        client.get_job_execution_result().result()
    except JobCancelledError:
        return False
    except JobExecutionError as e:
        if isinstance(e.__cause__, DriverLostError):
            return False
        raise
    return True


def _require_equal(found: list[Any], expected: list[Any], when: str) -> None:
    """The same records, in any order: splits have none among each other."""
    there, wanted = Counter(map(repr, found)), Counter(map(repr, expected))
    lost, more = wanted - there, there - wanted
    require(
        not lost and not more,
        f"{when}: lost are {sorted(lost.elements())[:10]}, too many are {sorted(more.elements())[:10]}",
    )
