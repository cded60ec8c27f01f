"""How often functions are opened, and what a job leaves on the disk."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.common.job_status import JobStatus
from firesteel.datastream import KeyedProcessFunction, MapFunction, RuntimeContext
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.program.execution import get_executor
from tests.spark.conftest import MakeEnvironment
from tests.waiting import patience, until

pytestmark = pytest.mark.spark

EPOCHS = 30
PER_EPOCH = 200


class NotesOpen(MapFunction):
    """Appends (subtask, process) to a file in each ``open``."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def open(self, runtime_context: RuntimeContext) -> None:
        note(self.notes, runtime_context)

    def map(self, value: int) -> int:
        return value


class Counts(KeyedProcessFunction):
    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def open(self, runtime_context: RuntimeContext) -> None:
        note(self.notes, runtime_context)
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def note(notes: Path, context: RuntimeContext) -> None:
    line = f"{context.get_attempt_number()} {context.get_index_of_this_subtask()} {os.getpid()}\n"
    with notes.open("a") as file:
        file.write(line)


@pytest.mark.row("X6")
def test_a_function_is_opened_once_for_attempt_subtask_and_process(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    opens = {name: tmp_path / name for name in ("map", "keyed")}
    env = environment(2, epoch_records=PER_EPOCH // 2)
    stream = env.from_sequence(0, EPOCHS * PER_EPOCH - 1).map(NotesOpen(opens["map"]), Types.LONG())
    results = stream.key_by(lambda v: v % 100).process(Counts(opens["keyed"])).execute_and_collect()
    (job,) = get_executor().running_jobs
    best: Counter[int] = Counter()
    for key, count in results:
        best[key] = max(best[key], count)
    assert job.view.epoch >= EPOCHS
    assert best == dict.fromkeys(range(100), EPOCHS * PER_EPOCH // 100), "state goes with the subtask"
    for name, notes in opens.items():
        lines = Counter(notes.read_text().split("\n")[:-1])
        assert set(lines.values()) == {1}, f"{name} was opened twice in one place: {lines}"
        assert {line.split()[1] for line in lines} == {"0", "1"}


def shuffle_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("shuffle_*") if path.is_file()]


@pytest.mark.row("S-GRAPH-19", "S-SLOT-17")
def test_shuffle_files_of_past_epochs_do_not_pile_up(
    environment: MakeEnvironment, spark_dir: Path, tmp_path: Path
) -> None:
    def run_to_the_end(epochs: int) -> None:
        env = environment(2, epoch_records=50)
        stream = (
            env.from_sequence(0, epochs * 100 - 1).key_by(lambda v: v % 10).process(Counts(tmp_path / "n"))
        )
        stream.filter(lambda r: False).print()
        job = get_executor().submit(env, env._take_program(), "epochs").job
        seen = False
        while not job.wait(0.02):
            seen = seen or bool(shuffle_files(spark_dir))
        assert seen, "shuffle files are not where they are looked for"
        assert job.status is JobStatus.FINISHED
        assert job.view.epoch >= epochs
        # Spark removes them in the background.
        until(lambda: not shuffle_files(spark_dir), "shuffle files are left", look_s=0.1)

    run_to_the_end(5)
    run_to_the_end(EPOCHS)


@pytest.mark.parametrize("ends", ["finished", "failed"])
def test_a_job_takes_its_files_with_it(environment: MakeEnvironment, tmp_path: Path, ends: str) -> None:
    go_on = tmp_path / "go-on"

    def check(value: int) -> int:
        while not go_on.exists():
            time.sleep(0.02)
        if ends == "failed" and value == 2000:
            raise ValueError(value)
        return value

    local = tmp_path / "local"
    env = environment(2, epoch_records=300, **{"firesteel.local-dir": str(local)})
    counted = env.from_sequence(0, 2999).map(check, Types.LONG()).key_by(lambda v: v)
    counted.process(Counts(tmp_path / "n")).filter(lambda r: False).print()
    job = get_executor().submit(env, env._take_program(), "files").job
    root = Path(job.view.info.state_dir)
    assert list(root.iterdir()), "the state directory is not where it is looked for"
    # A store comes with a million keys; this is one in its place, of an earlier attempt.
    store = local / str(job.job_id) / "0" / "vertex" / "0"
    store.mkdir(parents=True)
    (store / "data.mdb").write_bytes(b"store")
    go_on.touch()
    assert job.wait(patience(60))
    assert job.status is (JobStatus.FINISHED if ends == "finished" else JobStatus.FAILED)
    until(lambda: not root.exists(), "the temporary state directory is still there")
    until(lambda: not (local / str(job.job_id)).exists(), "local stores are still there")


def test_deltas_of_past_epochs_do_not_pile_up(environment: MakeEnvironment, tmp_path: Path) -> None:
    """They are folded and deleted while the job runs; the most that was there at once counts."""
    state = tmp_path / "state"
    env = environment(2, epoch_records=100, **{"firesteel.state.dir": str(state)})
    counted = (
        env.from_sequence(0, 2 * EPOCHS * 200 - 1).key_by(lambda v: v % 500).process(Counts(tmp_path / "n"))
    )
    counted.filter(lambda r: False).print()
    job = get_executor().submit(env, env._take_program(), "kept").job
    most = 0
    while not job.wait(0.05):
        most = max(most, sum(len(files) for _, _, files in os.walk(state)))
    assert job.status is JobStatus.FINISHED
    assert job.view.epoch >= 2 * EPOCHS
    assert 0 < most < EPOCHS, "files in the state directory at once"
    assert not list(Path(tempfile.gettempdir()).glob(f"firesteel-*/{job.job_id}")), "all is where it belongs"


def test_what_functions_log_reaches_the_driver_and_standard_input_is_empty(
    environment: MakeEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    def noisy(value: int) -> int:
        logging.getLogger("my.app").info("seen %d", value)
        return len(sys.stdin.read())

    with caplog.at_level(logging.INFO, "my.app"):
        stream = environment(2).from_collection([1, 2]).rebalance().map(noisy).name("noisy")
        assert list(stream.execute_and_collect()) == [0, 0]
    seen = [r.getMessage() for r in caplog.records if r.name == "my.app"]
    assert sorted(text.partition(": ")[2] for text in seen) == ["seen 1", "seen 2"]
    assert all(text.startswith("noisy (subtask ") for text in seen)
