"""When work in the background waits, and when it begins anew."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firesteel.common.clock import ManualClock, SystemClock
from firesteel.spark import giving_way
from firesteel.spark.giving_way import STARTS_FOR_MS, await_quiet, others_start, watch
from tests.waiting import patience, until

PROGRAM = """
import sys, time
from firesteel.storage.process_directory import process_directory
(process_directory() / "started").touch()  # as when its JVM is started
print("up", flush=True)
sys.stdin.read()
"""
WORK = """
import os, sys, time
from pathlib import Path
from firesteel.spark import giving_way
giving_way.STARTS_FOR_MS = int(sys.argv[2])
giving_way.take_what_is_left = lambda: None  # on a busy machine nothing is
with open(sys.argv[1] + "-looked", "a") as file:
    file.write("once more\\n")
giving_way.give_way()
with open(sys.argv[1], "a") as file:
    file.write(os.environ.get("SETTING", "none") + "\\n")
os.environ["SETTING"] = "of the work"
time.sleep(100)
"""


class PassingClock(ManualClock):
    """Whoever sleeps moves it."""

    def sleep(self, seconds: float) -> None:
        self.advance(seconds * 1000)


@contextmanager
def program(temporary: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has started a JVM and runs on."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    try:
        yield process
    finally:
        process.communicate(timeout=patience(30))


def test_it_waits_until_no_program_starts() -> None:
    clock = PassingClock()
    answers = iter([True, True, False])
    assert await_quiet(clock, clock.monotonic_s() + 10, lambda _: next(answers))
    assert next(answers, None) is None


def test_it_gives_up_when_programs_start_all_the_time() -> None:
    clock = PassingClock()
    begun = clock.monotonic_s()
    assert not await_quiet(clock, begun + 10, lambda _: True)
    assert 10 < clock.monotonic_s() - begun < 11


def test_it_begins_anew_when_a_program_starts_and_lowers_its_jvm_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lowered: list[int] = []
    monkeypatch.setattr(giving_way, "last_started", lambda: type("Jvm", (), {"pid": 7}))
    monkeypatch.setattr(giving_way, "lower_session", lowered.append)
    answers = iter([False, False, False, True])
    anew: list[None] = []
    watch(PassingClock(), lambda _: next(answers), lambda: anew.append(None))
    assert len(anew) == 1
    assert lowered == [7]


def test_a_program_starts_while_it_lives_and_for_some_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(giving_way, "gettempdir", lambda: str(tmp_path))
    now = SystemClock().now_ms
    with program(tmp_path) as process:
        assert others_start(now())
        assert others_start(now() + STARTS_FOR_MS // 2)
        assert not others_start(now() + STARTS_FOR_MS)
        process.kill()
    assert list(tmp_path.glob("*/started")), "it was killed"
    assert not others_start(now())


def test_work_begins_anew_after_a_program_that_started_meanwhile(tmp_path: Path) -> None:
    """With the surroundings that it had in the beginning, not with what the work has made of them."""
    temporary, begun = tmp_path / "tmp", tmp_path / "begun"
    temporary.mkdir()
    (tmp_path / "work.py").write_text(WORK)
    looked = tmp_path / "begun-looked"

    def times(file: Path = begun) -> int:
        return len(file.read_text().splitlines()) if file.exists() else 0

    with program(temporary):
        work = subprocess.Popen(
            # A program starts for as long as it lives, however long a machine stands still.
            [sys.executable, str(tmp_path / "work.py"), str(begun), str(10 * 60_000)],
            env=os.environ | {"TMPDIR": str(temporary), "SETTING": "of the user"},
            start_new_session=True,
        )
        until(lambda: times(looked) == 1)
        time.sleep(1)
        assert times() == 0, "a program starts"
    try:
        until(lambda: times() == 1)
        with program(temporary):
            until(lambda: times(looked) == 2)
            time.sleep(1)
            assert times() == 1, "it waits again"
        until(lambda: times() == 2)
        assert begun.read_text() == "of the user\nof the user\n"
    finally:
        work.kill()
        work.wait()


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="of Linux")
def test_the_work_takes_what_is_left() -> None:
    program = "import os; from firesteel.spark.giving_way import take_what_is_left; take_what_is_left(); "
    program += "print(os.sched_getscheduler(0) == os.SCHED_IDLE, os.nice(0), flush=True); os._exit(0)"
    done = subprocess.run(["setsid", sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "19"], done


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="the kernel has no such groups")
def test_only_a_session_of_its_own_is_lowered() -> None:
    """In a shell's session all that its user starts there would be slow from then on."""
    program = "import os; from firesteel.spark.giving_way import lower_session; lower_session(os.getpid()); "
    program += "print(open('/proc/self/autogroup').read())"
    for own in (True, False):
        command = ["setsid", sys.executable, "-c", program]  # in a session of its own in any case
        if not own:
            command = ["setsid", "sh", "-c", f'{sys.executable} -c "{program}"; true']
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split()[-1] == ("19" if own else "0"), done
