"""How many records an epoch takes and how long its tasks may work: learned, or as the program says."""

from __future__ import annotations

import random

import pytest

from firesteel.jobmanager.pacing import Pacer, PacingOptions, Work, dirt, work_of
from firesteel.runtime.task_report import ProcessReport, TaskReport
from firesteel.state.line import EpochDelta, RunRef


def planned(pacer: Pacer, to_checkpoint_ms: float | None = None) -> int:
    return pacer.next_epoch(to_checkpoint_ms).budget.max_records


def whole(elapsed_ms: float, records: int, dirty: float = 0.0) -> Work:
    """One split, read as far as the budget said."""
    return Work(elapsed_ms, records, records, dirty, most_of_split=records)


def with_checkpoints(interval_ms: int) -> Pacer:
    """Behind its first epoch, which tried one record."""
    pacer = Pacer(PacingOptions(6_000, checkpoint_interval_ms=interval_ms, with_exchange=True))
    pacer.next_epoch(interval_ms)
    pacer.learn(Work(3_000, 1, 1, most_of_split=1))
    return pacer


def cut(elapsed_ms: float, records: int) -> Work:
    return Work(elapsed_ms, records, records, is_cut=True, most_of_split=records)


def test_epochs_grow_to_the_target_length() -> None:
    pacer = Pacer(PacingOptions(6_000))
    sizes = []
    for _ in range(6):
        records = planned(pacer)
        sizes.append(records)
        pacer.learn(whole(150 + records / 1_000, records))  # a million records a second
    assert sizes == sorted(sizes)
    assert 5_000_000 < sizes[-1] < 6_000_000


@pytest.mark.parametrize("most", [None, 250])
@pytest.mark.parametrize("empty_ms", [90.0, 120.0, 400.0])
def test_epochs_keep_their_records_where_an_empty_one_is_longer_than_wanted(
    empty_ms: float, most: int | None
) -> None:
    """Checkpoints every 100 ms, on a machine where Spark takes longer for a job of no records."""
    pacer = Pacer(PacingOptions(6_000, most, checkpoint_interval_ms=100, with_exchange=True))
    pacer.next_epoch()
    pacer.learn(Work(empty_ms, 0, 0))
    pacer.gave_up(Work(2_000, 0, 0), 1 / 64, 2_000)  # a worker stood still
    for _ in range(20):
        records = planned(pacer)
        busy_ms = records / 10
        pacer.learn(Work(empty_ms + busy_ms, records, records, most_of_split=records, busy_ms=busy_ms))
    assert planned(pacer) >= (most or 0.9 * empty_ms * 10)  # half of the time is work


def test_what_an_empty_epoch_costs_is_learned_again_after_a_measure_that_cannot_be() -> None:
    pacer = Pacer(PacingOptions(6_000, checkpoint_interval_ms=100))
    pacer.next_epoch()
    pacer.learn(Work(100, 10, 10, most_of_split=10, busy_ms=300))  # tasks that waited, and took it for work
    assert pacer.least_ms < 30
    for _ in range(12):
        pacer.next_epoch()
        pacer.learn(Work(300, 0, 0))
    assert 300 <= pacer.least_ms < 310


def test_epochs_stay_short_where_records_cost_much_beside_the_functions() -> None:
    """A hundred milliseconds for each, in the exchange: it looks as if an empty epoch took that long."""
    pacer = Pacer(PacingOptions(6_000, checkpoint_interval_ms=1_000))
    for _ in range(40):
        records = planned(pacer)
        pacer.learn(Work(100 + 100 * records, records, records, most_of_split=records, busy_ms=records / 10))
    assert planned(pacer) <= 20


@pytest.mark.parametrize("seed", range(8))
def test_epochs_keep_their_records_where_spark_takes_now_longer_now_shorter(seed: int) -> None:
    """Checkpoints come sooner than Spark ends an epoch, so half of the time is to be work. When each
    difference between two epochs was taken for the cost of records, they fell to one and stayed there."""
    chance = random.Random(seed)
    pacer = Pacer(PacingOptions(6_000, checkpoint_interval_ms=10, with_exchange=True))
    worked_ms = elapsed_ms = 0.0
    for number in range(300):
        records = planned(pacer)
        busy_ms = records / 50 + 1
        spark_ms = max(20.0, chance.gauss(300, 80)) + (500 if chance.random() < 0.05 else 0)
        pacer.learn(Work(busy_ms + spark_ms, records, records, most_of_split=records, busy_ms=busy_ms))
        if number >= 50:
            worked_ms, elapsed_ms = worked_ms + busy_ms, elapsed_ms + busy_ms + spark_ms
            assert records > 50
    assert worked_ms > 0.4 * elapsed_ms


@pytest.mark.row("S-NET-06", "S-NET-08")
def test_an_epoch_that_took_too_long_is_followed_by_smaller_ones() -> None:
    pacer = Pacer(PacingOptions(500))
    before = planned(pacer)
    pacer.learn(whole(10_000, before))
    assert planned(pacer) < before / 4


def test_many_changed_entries_make_epochs_smaller() -> None:
    pacer = Pacer(PacingOptions(60_000))
    before = planned(pacer)
    pacer.learn(whole(1_000, before, 4.0))
    assert planned(pacer) == before / 4


def test_large_entries_count_by_their_bytes() -> None:
    run = RunRef("f", 0, 512 << 20, "", 1_000, 0, 1)
    assert dirt(EpochDelta(run=run, entries=1_000)) == 4.0
    assert dirt(EpochDelta(payload=b"x", entries=2_000_000)) == 2.0
    assert dirt(EpochDelta()) == 0.0


def test_a_size_that_the_program_sets_stays() -> None:
    for records in (1, 100, 10**9):
        pacer = Pacer(PacingOptions(500, records))
        assert planned(pacer) == records
        pacer.learn(whole(10_000, records, 10.0))
        assert planned(pacer) == records


def test_the_first_epoch_looks_at_the_clock_after_one_record() -> None:
    pace = Pacer(PacingOptions(6_000)).next_epoch().pace
    assert pace is not None
    assert pace.first_records == 1
    assert pace.limit_ms <= 1_000
    assert pace.limit_ms < pace.overrun_ms <= 2_000


@pytest.mark.parametrize(
    ("target_ms", "records", "limit_ms"), [(500, 131_072, 500), (6_000, 1_572_864, 2_000)]
)
def test_the_first_epoch_of_cheap_code_is_as_large_as_its_target_allows(
    target_ms: int, records: int, limit_ms: int
) -> None:
    pacer = Pacer(PacingOptions(target_ms, is_cheap=True))
    assert planned(pacer) == records
    pace = pacer.next_epoch().pace
    assert pace is not None
    assert (pace.first_records, pace.limit_ms) == (1, limit_ms)
    assert pace.overrun_ms >= 4 * limit_ms


def test_a_cut_epoch_is_followed_by_one_of_what_fits() -> None:
    pacer = with_checkpoints(1_000)
    pacer.next_epoch(1_000)
    pacer.learn(cut(1_150, 50))  # 20 ms a record
    assert 30 <= planned(pacer, 1_000) <= 50
    pace = pacer.next_epoch(1_000).pace
    assert pace is not None
    assert 1 < pace.first_records < 50


def test_a_single_slow_record_fits_into_each_epoch() -> None:
    pacer = Pacer(PacingOptions(500))
    pacer.next_epoch()
    pacer.learn(cut(60_000, 1))
    size = pacer.next_epoch()
    assert size.budget.max_records == 1
    assert size.pace is not None
    assert size.pace.first_records == 1


def test_epochs_end_when_a_checkpoint_is_due() -> None:
    pacer = with_checkpoints(4_000)
    pacer.next_epoch(4_000)
    pacer.learn(whole(4_000, 20_000))
    limits = {ms: pacer.next_epoch(ms).pace.limit_ms for ms in (4_000, 2_000, 100, -500)}  # type: ignore[union-attr]
    assert limits == {4_000: 4_000, 2_000: 2_000, 100: 1_000, -500: 1_000}
    assert planned(pacer, 2_000) < planned(pacer, 4_000)


def test_an_epoch_that_was_given_up_is_run_again_whole_with_what_fits() -> None:
    pacer = Pacer(PacingOptions(500))
    pacer.next_epoch()
    pacer.gave_up(whole(1_500, 20_000), 3 / 20_000, 1_500)  # three records took a second and a half
    size = pacer.next_epoch()
    assert size.budget.max_records == 1
    assert size.pace is None
    pacer.learn(whole(650, 1))
    assert pacer.next_epoch().pace is not None


def test_what_was_read_counts_where_it_is_less_than_what_was_planned() -> None:
    pacer = Pacer(PacingOptions(6_000))
    pacer.next_epoch()
    pacer.gave_up(whole(1_500, 200), 3 / 200, 1_500)
    assert planned(pacer) == 6


def test_a_size_that_the_program_sets_is_the_most_after_an_epoch_was_given_up() -> None:
    pacer = Pacer(PacingOptions(500, 1_000))
    pacer.next_epoch()
    pacer.gave_up(whole(1_500, 1_000), 0.01, 1_500)
    assert planned(pacer) < 10
    for _ in range(10):
        pacer.learn(whole(151, planned(pacer)))
    assert planned(pacer) == 1_000


def test_batch_mode_does_not_look_at_the_clock() -> None:
    assert Pacer(PacingOptions(500, limited=False)).next_epoch().pace is None


def test_the_shortest_epoch_lasts_as_long_as_the_slowest_record_of_late() -> None:
    pacer = Pacer(PacingOptions(500, checkpoint_interval_ms=1_000))
    assert pacer.least_ms == 150
    for elapsed_ms in (
        650,
        1_150,
        650,
    ):  # a record of half a second of each split, now and then two in one task
        pacer.next_epoch(1_000)
        pacer.learn(whole(elapsed_ms, 1))
    assert 700 < pacer.least_ms <= 1_150
    for _ in range(20):
        pacer.learn(whole(151, 1_000))
    assert pacer.least_ms < 155


def test_a_record_is_added_when_there_is_time_for_all_of_it() -> None:
    pacer = with_checkpoints(1_000)
    pacer.next_epoch(1_000)
    pacer.learn(cut(1_150, 1))
    for elapsed_ms, records in ((650, 1), (300, 5)):
        assert planned(pacer, 1_000) == 1
        pacer.learn(whole(elapsed_ms, 1))
        assert planned(pacer, 1_000) == records


@pytest.mark.parametrize(("busy_ms", "records"), [(0.0, 20_000), (19.0, 20_000), (40.0, 21), (2_000.0, 1)])
def test_a_job_with_checkpoints_begins_with_one_record_of_each_split(busy_ms: float, records: int) -> None:
    pacer = Pacer(PacingOptions(6_000, checkpoint_interval_ms=1_000, with_exchange=True))
    pacer.learn(Work(130, 0, 0))
    assert planned(pacer, 1_000) == 1, "an epoch without a record says nothing"
    work = Work(4_000, 2, 1, most_of_split=1, busy_ms=busy_ms)
    assert pacer.is_full(work)
    assert pacer.pause_ms(4_000, work) == 0
    pacer.learn(work)
    if busy_ms > 20:
        assert planned(pacer, 1_000) == 1, "that may have been an import"
        pacer.learn(work)
    assert planned(pacer, 1_000) == records


def grown(
    options: PacingOptions, *, empty_ms: float, start_ms: float, import_ms: float, epochs: int
) -> list[int]:
    """The records of each epoch of a job whose records cost ten microseconds.

    :param start_ms: what Spark needs to begin the first epoch: containers, workers.
    :param import_ms: what the first record takes longer, since the function imports a library.
    """
    pacer, read = Pacer(options), []
    for epoch in range(epochs):
        size = pacer.next_epoch(options.checkpoint_interval_ms)
        is_start = epoch == 0
        limit_ms = float("inf") if size.pace is None else size.pace.limit_ms
        extra_ms = import_ms if is_start else 0.0
        fitting = 1 if extra_ms > limit_ms else int(limit_ms * 100)
        records = min(size.budget.max_records, fitting)
        busy_ms = records / 100 + extra_ms
        elapsed_ms = empty_ms + busy_ms + (start_ms if is_start else 0.0)
        is_cut = records < size.budget.max_records
        work = Work(elapsed_ms, records, records, 0.0, is_cut, records, busy_ms, is_start)
        pacer.learn(work)
        read.append(records)
    return read


@pytest.mark.parametrize("import_ms", [0.0, 1_500.0])
@pytest.mark.parametrize("start_ms", [0.0, 60_000.0])
@pytest.mark.parametrize("empty_ms", [100.0, 900.0, 1_500.0, 3_000.0])
@pytest.mark.parametrize(
    "options",
    [
        PacingOptions(500),
        PacingOptions(6_000),
        PacingOptions(500, checkpoint_interval_ms=1_000, with_exchange=True),
        PacingOptions(6_000, checkpoint_interval_ms=10_000, with_exchange=True),
    ],
)
def test_what_a_start_costs_is_not_what_records_cost(
    options: PacingOptions, empty_ms: float, start_ms: float, import_ms: float
) -> None:
    """As on YARN, where the first Spark job waits for its containers, and each job takes longer."""
    read = grown(options, empty_ms=empty_ms, start_ms=start_ms, import_ms=import_ms, epochs=9)
    room_ms = max(options.target_ms - empty_ms, empty_ms)
    assert read[-1] >= 0.7 * min(room_ms, options.target_ms) * 100
    assert sum(records < 1_000 for records in read) <= 3


def test_a_restart_is_not_what_records_cost() -> None:
    pacer = Pacer(PacingOptions(500))
    for _ in range(5):
        before = planned(pacer)
        pacer.learn(Work(150 + before / 100, before, before, 0.0, False, before, before / 100))
    before = planned(pacer)
    pacer.learn(Work(30_000, before, before, 0.0, False, before, before / 100, is_start=True))
    assert planned(pacer) >= 0.9 * before


def test_the_overhead_of_an_epoch_is_what_it_took_beside_the_work_on_records() -> None:
    assert Work(100, 10, 10, busy_ms=30).overhead_ms == 70
    assert Work(100, 0, 0).overhead_ms == 100
    assert Work(100, 10, 10).overhead_ms is None, "no task has said how long it worked"
    assert Work(100, 10, 10, busy_ms=300).overhead_ms == 0, "a task that waited, and took it for work"


def test_compaction_is_not_work_on_records() -> None:
    """There is as much of it in an epoch of few records: epochs became small after a state was loaded."""
    process = ProcessReport("host", 1, 0, 0.0)
    busy = [(0, 30.0, 0.0), (1, 50.0, 20.0), (1, 40.0, 0.0)]
    reports = [
        TaskReport(1, level, n, 0.0, 1.0, {f"v{level}": ms}, None, process, compacting_ms=compacting)
        for n, (level, ms, compacting) in enumerate(busy)
    ]
    work = work_of([], [], 100.0, reports)
    assert work.busy_ms == 30 + 40
    assert work.overhead_ms == 30


@pytest.mark.parametrize(("with_exchange", "times"), [(False, 64), (True, 8)])
def test_epochs_grow_faster_where_no_task_has_to_process_what_it_was_sent(
    with_exchange: bool, times: int
) -> None:
    pacer = Pacer(PacingOptions(60_000, with_exchange=with_exchange))
    before = planned(pacer)
    pacer.learn(whole(160, before))
    assert planned(pacer) == times * before
