"""Jobs whose files cannot be written: they fail as often as is tolerated, say why, and end."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.clock import ManualClock
from firesteel.common.errors import ConfigurationError, StorageError
from firesteel.common.job_status import JobStatus
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import ListStateDescriptor
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory, SupersededError
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.jobmanager.restarts import causes_of
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import ANY, env_with, submit
from tests.runtime.support import At, LiveSource, SteppedClock, feed, punctuated
from tests.waiting import patience, until

TOLERABLE = "execution.checkpointing.tolerable-failed-checkpoints"
NO_RESTART = {"restart-strategy.type": "none"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"NOT TESTED: a full disk, for this process may not mount one: {mounted.stderr.decode()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, capture_output=True)


class Keep(KeyedProcessFunction):
    """Keeps ``size`` random bytes of each record."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_list_state(ListStateDescriptor("kept", ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.kept.add(os.urandom(self.size))
        yield value


def keeping(directory: Path, clock: SteppedClock, size: int, **options: str) -> JobGateway:
    env = env_with(1, directory, clock=clock, **options)
    live = env.from_source(LiveSource("disk", 1), punctuated(), "live").map(lambda r: r.value)
    live.key_by(lambda v: v).process(Keep(size)).sink_to(CollectingSink())
    job = submit(env)
    clock.settle()
    return job


def fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def advance_until(clock: SteppedClock, is_so: Callable[[], bool]) -> None:
    """Let time pass, also for a job that ends and waits for nothing then."""

    def has_come() -> bool:
        ManualClock.advance(clock, 1_000)
        return is_so()

    until(has_come, look_s=0.005)


def why(job: JobGateway) -> str:
    assert job.error is not None
    return "\n".join(str(cause) for cause in causes_of(job.error))


@pytest.mark.parametrize("tolerated", [0, 2])
def test_a_job_fails_when_more_checkpoints_than_tolerated_fail(disk: Path, tolerated: int) -> None:
    clock = SteppedClock()
    job = keeping(disk / "chk", clock, 1, **NO_RESTART, **{TOLERABLE: str(tolerated)})
    feed("disk", (At(1, "a"), 0))
    clock.tick()
    fill(disk)
    advance_until(clock, lambda: job.wait(0))
    assert job.status is JobStatus.FAILED
    assert f"{tolerated + 1} in a row; {tolerated} are tolerated" in why(job)
    assert "No space left" in why(job)
    assert "bytes free" in why(job)
    assert "make room" in why(job)


def test_a_job_whose_state_does_not_fit_says_so(disk: Path) -> None:
    """The delta of an epoch, written by a worker."""
    clock = SteppedClock()
    job = keeping(disk / "chk", clock, 2 << 20, **NO_RESTART)
    feed("disk", (At(1, "a"), 0))
    advance_until(clock, lambda: job.wait(0))
    assert any(isinstance(cause, StorageError) for cause in causes_of(job.error))
    assert str(disk / "chk") in why(job)
    assert "No space left" in why(job)


def test_a_job_is_not_restarted_for_ever_when_nothing_can_be_stored(disk: Path) -> None:
    clock = SteppedClock()
    job = keeping(disk / "chk", clock, 1)
    feed("disk", (At(1, "a"), 0))
    clock.tick()
    advance_until(clock, lambda: job.view.checkpoints.retained != ())
    fill(disk)
    advance_until(clock, lambda: job.wait(0))
    assert job.status is JobStatus.FAILED
    assert job.view.restarts == 6
    assert "given up" in "".join(job.error.__notes__)  # type: ignore[union-attr]
    assert list((disk / "chk").glob("*/chk-*/_metadata")), "who makes room goes on from it"


def test_a_job_that_gets_room_again_goes_on(disk: Path) -> None:
    clock = SteppedClock()
    job = keeping(disk / "chk", clock, 1)
    feed("disk", (At(1, "a"), 0))
    clock.tick()
    for round_ in range(1, 5):  # more failures than are allowed in a row
        fill(disk)
        advance_until(clock, lambda: job.view.restarts >= 2 * round_)  # noqa: B023
        (disk / "ballast").unlink()
        before = job.view.checkpoints.retained
        advance_until(clock, lambda: job.view.checkpoints.retained != before)  # noqa: B023
    assert not job.status.is_terminal_state()
    assert job.view.restarts > 6
    job.cancel()
    assert job.wait(patience(10))


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"file/chk.*Not a directory") as info:
        CheckpointDirectory(str(tmp_path / "file" / "chk"), "job")
    assert "another directory" in str(info.value)


def test_a_directory_that_is_removed_is_not_another_driver(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path), "job")
    shutil.rmtree(directory.root)
    with pytest.raises(SupersededError, match=r"The checkpoint directory .* is gone") as info:
        directory.check()
    assert "Another driver" not in str(info.value)


def test_what_a_job_keeps_is_its_owners_alone(tmp_path: Path) -> None:
    clock = SteppedClock()
    old = os.umask(0o022)
    try:
        ours = tmp_path / "given"
        ours.mkdir(0o755)
        job = keeping(ours / "chk", clock, 1 << 18)
        feed("disk", (At(1, "a"), 0))
        clock.tick()
        clock.advance(10_000)
        job.savepoint(SavepointRequest(str(tmp_path / "savepoints"))).result(patience(20))
    finally:
        os.umask(old)
    made = [*(ours / "chk").rglob("*"), *(tmp_path / "savepoints").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}
    assert len([path for path in made if path.is_file()]) > 4
    assert ours.stat().st_mode & 0o777 == 0o755
    job.cancel()
    assert job.wait(patience(10))


def test_a_directory_that_a_group_shares_stays_shared(tmp_path: Path) -> None:
    tmp_path.chmod(0o2770)
    directory = CheckpointDirectory(str(tmp_path), "job")
    root = Path(directory.root)
    assert root.stat().st_mode & 0o7777 == 0o2770
    assert next((root / "claims").iterdir()).stat().st_mode & 0o777 == 0o640
