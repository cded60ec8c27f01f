"""Jobs that fail and go on: in the same driver, and in the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import (
    ConfigurationError,
    EngineError,
    JobExecutionError,
    PathNotFoundError,
    StateCorruptionError,
    StorageUnavailableError,
)
from firesteel.common.job_status import JobStatus
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import RuntimeExecutionMode
from firesteel.jobmanager.checkpoints.storage import (
    CheckpointDirectory,
    SupersededError,
    read_manifest,
    remove_manifest,
    stored_checkpoints,
)
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.wire import WireRow
from firesteel.state import files
from firesteel.storage.filesystems import LocalStorage
from firesteel.testing.collecting_sink import CollectingSink
from firesteel.testing.faulty_engine import FaultyEngine
from firesteel.testing.local_platform import LocalEngine
from tests.jobmanager.checkpoint_support import (
    RECOVERY,
    RETENTION,
    Count,
    env_with,
    files_below,
    raising,
    submit,
)
from tests.runtime.support import (
    At,
    LiveSource,
    SplitsSource,
    SteppedClock,
    environment,
    feed,
    local_platform,
    note,
    notes,
    punctuated,
)
from tests.waiting import patience, until

S = JobStatus
UNMARKED = WatermarkStrategy.no_watermarks()
FIXED = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "1 ms",
}
MANY = {"execution.checkpointing.num-retained": "10", RETENTION: "RETAIN_ON_CANCELLATION"}
WORDS = [f"w{n % 7}" for n in range(400)]


class FailsAt:
    """Lets records pass; fails at the one at ``place``, ``times`` times."""

    def __init__(self, topic: str, place: int, times: int = 1) -> None:
        self.topic, self.place, self.times = topic, place, times

    def __call__(self, record: Any) -> Any:
        if record[0] == self.place and len(notes[self.topic]) < self.times:
            note(self.topic, record)
            raise ValueError(f"record {record[0]} cannot be")
        return record[1]


def counting(env: Any, fails: FailsAt | None = None, words: list[str] = WORDS) -> CollectingSink:
    """How often each word came, with its number."""
    sink = CollectingSink()
    source = SplitsSource([((n, word), n) for n, word in enumerate(words)])
    stream = env.from_source(source, UNMARKED, "words").uid("words")
    stream = stream.map(fails or (lambda r: r[1])).uid("map")
    stream.key_by(lambda v: v).process(Count()).uid("count").sink_to(sink).uid("sink")
    return sink


def expected(words: list[str] = WORDS) -> Counter[Any]:
    numbers: Counter[str] = Counter()
    found: Counter[Any] = Counter()
    for word in words:
        numbers[word] += 1
        found[word, numbers[word]] += 1
    found.update(("all", word, (word,) * count) for word, count in numbers.items())
    return found


def every_epoch(directory: Path | None, parallelism: int = 2, **options: str) -> Any:
    """A checkpoint after each epoch of 10 records."""
    options = {"execution.checkpointing.interval": "10 ms", "firesteel.epoch.max-records": "10", **options}
    clock = _Hasty()
    return env_with(parallelism, directory, clock=clock, **options)


class _Hasty:
    """20 ms pass whenever somebody looks."""

    def __init__(self) -> None:
        self._now = 1_000_000

    def now_ms(self) -> int:
        self._now += 20
        return self._now

    def monotonic_s(self) -> float:
        return self.now_ms() / 1000

    def sleep(self, seconds: float) -> None: ...

    def wait_until(self, instant_ms: int, interrupt: Any = None) -> bool:
        self._now = max(self._now, instant_ms)
        return not (interrupt is not None and interrupt.is_set())


# ---- in the same driver


@pytest.mark.parametrize("place", [0, 3, 155, 399])
@pytest.mark.parametrize("with_directory", [True, False])
@pytest.mark.row("S-FAIL-01", "S-FAIL-02", "S-FAIL-05", "S-STATE-15", "S-CKPT-04", "S-GRAPH-13", "S-FAIL-16")
@pytest.mark.row("S-LIFE-05")
def test_a_job_goes_back_to_its_last_checkpoint(tmp_path: Path, place: int, with_directory: bool) -> None:
    """Nothing is lost and nothing is doubled."""
    env = every_epoch(tmp_path if with_directory else None, **FIXED)
    sink = counting(env, FailsAt("fails", place, 2))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FINISHED, job.error
    assert Counter(sink.values) == expected()
    assert len(notes["fails"]) == 2
    assert job.view.attempt == 2
    assert list(job.view.statuses) == [
        *(S.INITIALIZING, S.CREATED, S.RUNNING),
        *(S.RESTARTING, S.RUNNING) * 2,
        S.FINISHED,
    ]
    assert job.view.restarts == 2
    assert "cannot be" in job.view.exceptions[0].message
    assert job.view.checkpoints.restored == 2


class Recording(LocalEngine):
    """Keeps what the tasks were told, and which files of their state were there."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[LevelDescriptor, list[tuple[Path, int]]]] = []

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        for level in levels:
            runs = [run for subtask in level.subtasks.values() for run in subtask.line.runs]
            files = [(Path(level.state_dir) / run.path, run.offset + run.length) for run in runs]
            assert all(file.stat().st_size >= end for file, end in files)
            self.told.append((level, files))
        return super().run(levels, parallelism)


@pytest.mark.row("S-GRAPH-21")
def test_the_descriptor_of_a_restored_subtask_names_its_state(tmp_path: Path) -> None:
    """The program, by its digest, has its operators and inputs and stays the same."""
    engine = Recording()
    with local_platform(lambda: engine):
        env = every_epoch(tmp_path, **FIXED)
        counting(env, FailsAt("once", 155))
        job = submit(env)
        assert job.wait(patience(30))
        assert job.status is S.FINISHED, job.error
    assert len({level.program for level, _ in engine.told}) == 1
    assert {index for level, _ in engine.told for _, index in level.subtasks} == {0, 1}
    first, restored = (
        next((level, files) for level, files in engine.told if level.attempt == attempt and level.level == 1)
        for attempt in (0, 1)
    )
    assert first[1] == []
    assert len(restored[1]) >= 2, "both subtasks have state"
    assert restored[0].epoch > first[0].epoch


@pytest.mark.row("S-FAIL-10", "S-SCHED-09")
def test_the_strategy_says_how_often(tmp_path: Path) -> None:
    """Exactly three restarts."""
    env = every_epoch(tmp_path, **FIXED)
    counting(env, FailsAt("always", 50, 1000))
    job = submit(env)
    assert job.wait(patience(30))
    assert len(notes["always"]) == 4
    assert list(job.view.statuses)[-2:] == [S.FAILING, S.FAILED]
    assert isinstance(job.error, JobExecutionError)


@pytest.mark.row("S-CKPT-37")
def test_without_checkpoints_a_job_is_not_restarted_unless_it_is_told_to() -> None:
    env = environment(1)
    counting(env, FailsAt("once", 50))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FAILED
    env = environment(1, **FIXED)
    sink = counting(env, FailsAt("again", 50))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FINISHED
    assert Counter(sink.values) >= expected(), "from the start: at least once"
    assert job.view.attempt == 1


class LosesTasks(FaultyEngine):
    """Kills a task of each level in the middle, and loses the first epoch when it has run."""

    def __init__(self) -> None:
        super().__init__(0)

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        answers = LocalEngine.run(self, levels, parallelism)
        if not self.discarded:
            self.discarded += 1
            raise EngineError("an executor was lost")
        return answers

    def _run_level(self, descriptor: LevelDescriptor, width: int, rows: list[WireRow]) -> list[WireRow]:
        self._kill_one(descriptor, 0, width, rows)
        return LocalEngine._run_level(self, descriptor, width, rows)


@pytest.mark.parametrize("failing", ["tasks", "function"])
@pytest.mark.row("S-CKPT-38")
def test_a_batch_job_runs_again_without_checkpoints(tmp_path: Path, failing: str) -> None:
    """Though they are configured. Nothing of what failed is in the result."""
    engine = LosesTasks() if failing == "tasks" else LocalEngine()
    with local_platform(lambda: engine):
        env = every_epoch(tmp_path, **FIXED)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        fails = FailsAt("function", 155, 2) if failing == "function" else None
        stream = env.from_collection(list(enumerate(WORDS))).map(fails or (lambda r: r[1]))
        sink = CollectingSink()
        stream.key_by(lambda v: v).process(Count()).sink_to(sink)
        job = submit(env)
        assert job.wait(patience(30))
        assert job.status is S.FINISHED, job.error
    assert Counter(sink.values) == expected()
    if isinstance(engine, LosesTasks):
        assert engine.discarded == 1
        assert engine.killed >= 4, "one of each level, each time"
        assert job.view.restarts == 0
    else:
        assert len(notes["function"]) == job.view.restarts == 2
    checkpoints = job.view.checkpoints
    assert (checkpoints.completed, checkpoints.restored, checkpoints.history) == (0, 0, ())
    assert not list(tmp_path.rglob("chk-*"))


@pytest.mark.row("S-FAIL-12")
def test_a_program_that_is_wrong_is_not_restarted(tmp_path: Path) -> None:
    env = every_epoch(tmp_path, **FIXED)
    source = SplitsSource([(1, 1)])
    cycle: list[Any] = []
    cycle.append(cycle)  # a key without a stable form
    env.from_source(source, UNMARKED, "s").key_by(lambda v: cycle).process(Count())
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FAILED
    assert job.view.attempt == 0


def test_a_job_is_cancelled_while_it_waits_to_be_restarted(tmp_path: Path) -> None:
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **{**FIXED, "restart-strategy.fixed-delay.delay": "1 h"})
    counting(env, FailsAt("waits", 0))
    job = submit(env)
    clock.settle()
    assert job.status is S.RESTARTING
    job.cancel()
    assert job.wait(patience(10))
    assert list(job.view.statuses)[-3:] == [S.RESTARTING, S.CANCELLING, S.CANCELED]


def test_accumulators_count_each_record_once_over_a_restart(tmp_path: Path) -> None:
    from firesteel.common.accumulators import IntCounter
    from firesteel.datastream import MapFunction, RuntimeContext

    class Counted(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.all = IntCounter()
            runtime_context.add_accumulator("all", self.all)

        def map(self, value: Any) -> Any:
            self.all.add(1)
            return FailsAt("counted", 155)(value)

    env = every_epoch(tmp_path, **FIXED)
    env.from_source(SplitsSource([((n, n), n) for n in range(400)]), UNMARKED, "n").map(Counted())
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FINISHED
    assert job.accumulators().result(patience(10))["all"] == 400


# ---- in the next driver


def cancelled_half_way(directory: Path, **options: str) -> CollectingSink:
    """A job that fails for good at record 255; what it had committed."""
    env = every_epoch(directory, **{"restart-strategy.type": "none", **MANY, **options})
    sink = counting(env, FailsAt("half", 255))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FAILED
    return sink


def the_job(directory: Path) -> Path:
    [job] = directory.iterdir()
    return job


@pytest.mark.row("S-STATE-15", "S-CKPT-04", "S-HA-04", "S-HA-06")
def test_the_next_driver_goes_on_with_the_job(tmp_path: Path) -> None:
    """Output and id; a later job does not."""
    before = cancelled_half_way(tmp_path)
    job = the_job(tmp_path)
    env = every_epoch(tmp_path, **{RECOVERY: "latest"})
    sink = counting(env)
    running = submit(env)
    assert str(running.job_id) == job.name
    assert running.view.checkpoints.claim.startswith("2-")
    assert running.wait(patience(30))
    assert running.status is S.FINISHED, running.error
    both = Counter(before.values) + Counter(sink.values)
    again = both - expected()
    assert both & expected() == expected(), "nothing is lost"
    assert set(again) <= set(before.values), "the last committed part comes to the new collector again"
    assert not job.exists()


def test_latest_begins_anew_when_there_is_none(tmp_path: Path) -> None:
    env = every_epoch(tmp_path, **{RECOVERY: "latest"})
    sink = counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert Counter(sink.values) == expected()


def test_latest_needs_checkpoints() -> None:
    env = environment(1, **{RECOVERY: "latest"})
    counting(env)
    with pytest.raises(ConfigurationError, match="latest"):
        submit(env)


@pytest.mark.parametrize("parallelism", [2, 3, 1])
@pytest.mark.row("S-SAVE-13", "S-CKPT-34")
def test_a_new_job_begins_with_any_retained_checkpoint(tmp_path: Path, parallelism: int) -> None:
    """Also with another parallelism; what it begins with stays."""
    cancelled_half_way(tmp_path / "old")
    job = the_job(tmp_path / "old")
    path = stored_checkpoints(str(job))[-1].path
    before = read_manifest(path)
    env = every_epoch(tmp_path / "new", parallelism, **{RECOVERY: path})
    sink = counting(env)
    running = submit(env)
    assert str(running.job_id) != job.name
    assert running.wait(patience(30))
    assert running.status is S.FINISHED, running.error
    done = sum(1 for value in sink.values if value[0] != "all")
    assert 0 < done < 400, "it did not begin at the start"
    assert Counter(sink.values) <= expected()
    assert {v for v in sink.values if v[0] == "all"} == {v for v in expected() if v[0] == "all"}
    assert read_manifest(path) == before, "nothing of it was touched"


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    env = every_epoch(tmp_path, **{RECOVERY: str(tmp_path / "nowhere" / "chk-1")})
    counting(env)
    with pytest.raises(PathNotFoundError, match="nowhere"):
        submit(env)


@pytest.mark.row("S-SLOT-15", "S-HA-03", "S-HA-09")
def test_an_older_driver_is_fenced(tmp_path: Path) -> None:
    """Of two drivers of one job only the newer commits; the other is SUSPENDED."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **{RETENTION: "RETAIN_ON_CANCELLATION"})
    sink = CollectingSink()
    stream = env.from_source(LiveSource("fence"), punctuated(), "live").map(lambda r: r.value)
    stream.key_by(lambda v: v).process(Count()).sink_to(sink)
    old = submit(env)
    feed("fence", (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    assert sink.values == [("a", 1)]

    from firesteel.jobmanager.checkpoints.recovery import recovered

    new = CheckpointDirectory(str(tmp_path), str(old.job_id))  # another driver takes the job over
    [found] = recovered(new)
    feed("fence", (At(2, "b"), 0))
    clock.tick(1_000)
    clock.advance(9_000)
    assert old.wait(patience(10))
    assert old.status is S.SUSPENDED
    assert isinstance(old.error, SupersededError)
    assert sink.values == [("a", 1)], "what comes after belongs to the new driver"
    for ref in found.manifest.runs:
        assert Path(ref.path).exists(), "nothing that the new one needs is gone"


def test_what_fails_in_a_driver_that_was_replaced_is_no_failure_of_the_job(tmp_path: Path) -> None:
    """The newer driver removes checkpoints that the older one would still read, and would miss."""

    def value(record: At) -> str:
        assert record.value != "missing"
        return str(record.value)

    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **{RETENTION: "RETAIN_ON_CANCELLATION"})
    env.from_source(LiveSource("gone"), punctuated(), "live").map(value).sink_to(CollectingSink())
    old = submit(env)
    clock.settle()
    CheckpointDirectory(str(tmp_path), str(old.job_id))
    feed("gone", (At(1, "missing"), 0))
    clock.advance(1_000)
    assert old.wait(patience(10))
    assert old.status is S.SUSPENDED
    assert isinstance(old.error, SupersededError)


def test_of_two_claims_at_once_one_counts(tmp_path: Path) -> None:
    first = CheckpointDirectory(str(tmp_path), "job")
    second = CheckpointDirectory(str(tmp_path), "job")
    second.check()
    with pytest.raises(SupersededError, match=second.claim):
        first.check()


@pytest.mark.row("S-HA-03")
def test_a_driver_that_slept_through_the_end_of_its_job_commits_nothing(tmp_path: Path) -> None:
    old = CheckpointDirectory(str(tmp_path), "job")
    new = CheckpointDirectory(str(tmp_path), "job")
    new.record_end(b"{}")
    new.dispose()
    with pytest.raises(SupersededError, match="ended"):
        old.check()


def test_of_a_job_that_is_over_only_its_own_files_are_removed(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path), "job")
    root = Path(directory.root)
    kept = [root / "notes.txt", root / "chk-7" / "notes.txt", root / "plots" / "chk-1" / "_metadata"]
    for file in (
        *kept,
        root / "chk-7" / "_metadata",
        root / "chk-7" / "._metadata.0123",
        root / "chk-8" / "_metadata",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    directory.discard(str(root / "chk-8"))
    assert not (root / "chk-8").exists()
    directory.record_end(b"{}")
    directory.dispose()
    assert sorted(file for file in root.rglob("*") if file.is_file()) == sorted(kept)


def test_drivers_that_claim_at_once_get_numbers_of_their_own(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        drivers = list(pool.map(lambda _: CheckpointDirectory(str(tmp_path), "job"), range(8)))
    numbers = [int(driver.claim.partition("-")[0]) for driver in drivers]
    assert len(set(numbers)) == 8
    for number, driver in zip(numbers, drivers, strict=True):
        if number == max(numbers):
            driver.check()
        else:
            with pytest.raises(SupersededError):
                driver.check()


def test_leftovers_of_a_dead_driver_are_removed(tmp_path: Path) -> None:
    """State that no checkpoint needs, checkpoints that should be gone, halves of checkpoints."""
    cancelled_half_way(tmp_path)
    job = the_job(tmp_path)
    [claim] = (job / "shared").iterdir()
    for name in ("epoch-99-dead", "x/state/v/0/abc.run", "x/state/v/0/abc.run.1234.tmp"):
        (claim / name).parent.mkdir(parents=True, exist_ok=True)
        (claim / name).write_bytes(b"left")
    (job / "chk-99").mkdir()
    env = every_epoch(tmp_path, **{RECOVERY: "latest", "execution.checkpointing.num-retained": "2"})
    from firesteel.graph.generator import generate
    from firesteel.graph.job_graph import create_job_graph
    from firesteel.jobmanager.continuity import prepare
    from firesteel.jobmanager.executor import graph_config

    counting(env)
    graph = create_job_graph(generate(env._take_program(), graph_config(env, "job")))
    prepared = prepare(env.configuration, graph, SteppedClock(), lambda: str(tmp_path), ())
    assert prepared.continuity.beginning.exact
    kept = prepared.continuity.checkpoints.completed.all
    assert len(kept) == 2
    assert [s.path for s in stored_checkpoints(str(job))] == [c.path for c in kept[::-1]]
    state = {str(p) for p in claim.rglob("*") if p.is_file() and not p.name.startswith("program")}
    assert state == set(kept[0].manifest.files | kept[1].manifest.files)


# ---- a job with an id of its own

JOB = "$internal.pipeline.job-id"
ID = "0123456789abcdef" * 2


def test_a_job_with_an_id_goes_on_by_itself(tmp_path: Path) -> None:
    """The same settings begin it, go on with it after a failure, and do not run it again when it is done."""
    before = cancelled_half_way(tmp_path, **{JOB: ID})
    assert the_job(tmp_path).name == ID
    env = every_epoch(tmp_path, **{JOB: ID.upper()})
    sink = counting(env)
    job = submit(env)
    assert job.view.checkpoints.claim.startswith("2-")
    assert job.wait(patience(30))
    assert job.status is S.FINISHED, job.error
    assert (Counter(before.values) | Counter(sink.values)) == expected()

    with local_platform():  # another driver
        env = every_epoch(tmp_path, **{JOB: ID})
        sink = counting(env)
        result = env.execute("job")
        assert str(result.get_job_id()) == ID
        assert sink.values == []
        client = env_with_words(tmp_path).execute_async()
        assert client.get_job_status().result() is S.FINISHED
        with pytest.raises(JobExecutionError, match="ended"):
            client.trigger_savepoint().result()
    assert files_below(tmp_path) == [f"{ID}/_result"]


def test_what_is_left_of_a_job_that_has_ended_goes_with_a_later_start_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The storage goes away when the end is recorded, twice. The job has its result all the same."""
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointDirectory, "dispose", raising(OSError("the storage is away")))
        for _ in range(2):
            with local_platform():
                assert str(env_with_words(tmp_path).execute("job").get_job_id()) == ID
            assert list((tmp_path / ID / "shared").rglob("*.run"))
    assert "what is left of the job is not removed" in caplog.text
    with local_platform():
        env_with_words(tmp_path).execute("job")
    assert files_below(tmp_path) == [f"{ID}/_result"]


def env_with_words(directory: Path) -> Any:
    env = every_epoch(directory, **{JOB: ID})
    counting(env)
    return env


def test_a_job_with_an_id_prefers_its_own_checkpoint_to_a_savepoint(tmp_path: Path) -> None:
    """Flink: the path counts for the first start only."""
    cancelled_half_way(tmp_path / "old")
    first = stored_checkpoints(str(the_job(tmp_path / "old")))[-1].path
    options = {JOB: ID, RECOVERY: first}
    env = every_epoch(tmp_path / "new", **{**options, "restart-strategy.type": "none", **MANY})
    counting(env, FailsAt("later", 300))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FAILED
    assert job.view.checkpoints.restored_from == first
    newest = stored_checkpoints(str(the_job(tmp_path / "new")))[0].path
    env = every_epoch(tmp_path / "new", **options)
    counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert job.view.checkpoints.restored_from == newest


def test_a_program_with_a_job_id_has_one_job(tmp_path: Path) -> None:
    env_with_words(tmp_path).execute("job")
    with pytest.raises(ConfigurationError, match="second"):
        env_with_words(tmp_path).execute("another")


@pytest.mark.parametrize("text", ["7", "g" * 32, ID + "0"])
def test_what_is_no_job_id_is_refused(tmp_path: Path, text: str) -> None:
    env = every_epoch(tmp_path, **{JOB: text})
    counting(env)
    with pytest.raises(ConfigurationError, match="job-id"):
        env.execute("job")


@pytest.mark.row("S-HA-07", "S-HA-08")
def test_a_job_that_was_half_removed_has_ended(tmp_path: Path) -> None:
    """A driver that dies while it removes a finished job: nobody goes on from what is left."""
    from firesteel.jobmanager.checkpoints.results import JobResult, encode_result, read_result

    cancelled_half_way(tmp_path)
    job = the_job(tmp_path)
    (job / "_result").write_bytes(encode_result(JobResult(job.name, "job", "FINISHED", 7, b"")))
    env = every_epoch(tmp_path, **{RECOVERY: "latest"})
    sink = counting(env)
    running = submit(env)
    assert str(running.job_id) != job.name
    assert running.wait(patience(30))
    assert Counter(sink.values) == expected(), "a new job"
    (job / "_result").write_bytes(b"{")
    with pytest.raises(StateCorruptionError, match="_result is damaged"):
        read_result(str(job))


# ---- a checkpoint of which nobody knows whether it counts


def checks_fail(monkeypatch: pytest.MonkeyPatch, *, also_removal: bool) -> list[str]:
    """After the third manifest the storage fails once; what could not be done then."""
    published: list[str] = []
    failed: list[str] = []
    publish, check, discard = (getattr(CheckpointDirectory, n) for n in ("publish", "check", "discard"))

    def publishing(self: Any, manifest: Any) -> Any:
        published.append(self.path_of(manifest.id))
        return publish(self, manifest)

    def checking(self: Any) -> None:
        if len(published) == 3 and not failed:
            failed.append(published[-1])
            raise OSError(5, "the storage does not answer")
        check(self)

    def discarding(self: Any, path: str) -> None:
        if also_removal and failed and path == failed[0]:
            raise OSError(5, "the storage does not answer")
        discard(self, path)

    for name, method in (("publish", publishing), ("check", checking), ("discard", discarding)):
        monkeypatch.setattr(CheckpointDirectory, name, method)
    return failed


def test_a_checkpoint_that_failed_after_it_was_written_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next driver finds it, and commits what this one has aborted meanwhile."""
    failed = checks_fail(monkeypatch, also_removal=False)
    env = every_epoch(tmp_path, **FIXED, **MANY)
    sink = counting(env, FailsAt("then", 255, 4))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.FAILED, "for good, so that its checkpoints stay"
    assert failed
    paths = [stored.path for stored in stored_checkpoints(str(the_job(tmp_path)))]
    assert paths
    assert failed[0] not in paths
    assert Counter(sink.values) <= expected()


def away(undone: bool) -> StorageUnavailableError:
    error = StorageUnavailableError("the storage does not answer")
    error.undone = undone
    return error


def storage_goes_away(monkeypatch: pytest.MonkeyPatch, *, writes: bool) -> list[str]:
    """The third manifest cannot be written, and for a while nothing can be removed; what was tried then.

    :param writes: whether nobody knows if it is there.
    """
    published: list[str] = []
    removed: list[str] = []
    publish, discard = CheckpointDirectory.publish, CheckpointDirectory.discard

    def publishing(self: Any, manifest: Any) -> Any:
        published.append(self.path_of(manifest.id))
        if len(published) == 3:
            raise away(not writes)
        return publish(self, manifest)

    def discarding(self: Any, path: str) -> None:
        if len(published) == 3:
            removed.append(path)
            raise away(True)
        discard(self, path)

    monkeypatch.setattr(CheckpointDirectory, "publish", publishing)
    monkeypatch.setattr(CheckpointDirectory, "discard", discarding)
    return removed


@pytest.mark.row("S-FAIL-02", "S-CKPT-17")
def test_a_checkpoint_that_was_certainly_not_written_need_not_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = storage_goes_away(monkeypatch, writes=False)
    env = every_epoch(tmp_path, **FIXED)
    sink = counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert removed
    assert (job.status, job.view.restarts, job.view.checkpoints.failed) == (S.FINISHED, 1, 1), job.error
    assert Counter(sink.values) == expected()


def test_a_checkpoint_that_may_have_been_written_must_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = storage_goes_away(monkeypatch, writes=True)
    env = every_epoch(tmp_path, **FIXED)
    counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert removed
    assert job.status is S.SUSPENDED


def test_a_manifest_that_a_storage_renames_late_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked to before it stopped to answer, and does it after the first thing that it is asked."""
    where = tmp_path / "chk-1"
    where.mkdir()
    temporary = where / "._metadata.1"
    temporary.write_bytes(b"{}")
    delete = LocalStorage.delete

    def late(self: Any, path: str) -> None:
        delete(self, path)
        if temporary.exists():
            temporary.rename(where / "_metadata")

    monkeypatch.setattr(LocalStorage, "delete", late)
    remove_manifest(str(where))
    assert not where.exists()


@pytest.mark.parametrize("what", ["a state file", "the manifest", "the length of a file"])
def test_a_storage_that_is_away_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """An older checkpoint would be used in its place, and give output again."""
    env = every_epoch(tmp_path, **MANY)
    counting(env)
    job = submit(env)
    until(lambda: len(job.view.checkpoints.retained) > 1 or job.wait(0))
    job.cancel()
    assert job.wait(patience(30))
    newest = stored_checkpoints(str(the_job(tmp_path)))[0].path

    info = LocalStorage.info

    def unavailable(*arguments: Any) -> Any:
        raise away(True)

    def of_the_manifest(self: Any, path: str) -> Any:
        return info(self, path) if path.endswith("_metadata") else unavailable()

    if what == "a state file":
        monkeypatch.setattr(files, "arrow_file_system", unavailable)
        with pytest.raises(StorageUnavailableError):
            files.StateFiles("hdfs://nowhere").read("run")
    else:
        name, method = ("open_input", unavailable) if what == "the manifest" else ("info", of_the_manifest)
        monkeypatch.setattr(LocalStorage, name, method)
        with pytest.raises(StorageUnavailableError):
            read_manifest(newest)


def test_a_checkpoint_that_cannot_be_taken_back_is_left_to_another_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = checks_fail(monkeypatch, also_removal=True)
    env = every_epoch(tmp_path, **FIXED)
    before = counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is S.SUSPENDED
    assert "does not answer" in str(job.error)
    assert stored_checkpoints(str(the_job(tmp_path)))[0].path == failed[0], "it counts"
    monkeypatch.undo()
    env = every_epoch(tmp_path, **{RECOVERY: "latest"})
    sink = counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert job.view.checkpoints.restored_from == failed[0]
    assert Counter(before.values) + Counter(sink.values) == expected()
