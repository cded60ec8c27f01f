"""What is done to a job while it runs. Each kind is a function that strikes at random moments until it is
told that the job is over, and gives back how often it has struck."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from pyspark.sql import SparkSession

from firesteel.spark.processes import python_workers
from tests.kills import faulty_files
from tests.waiting import patience

DISK_BYTES: Final = 64 << 20
_STRIKES: Final = 3  # at most; a run lasts some seconds
_PAUSE_S: Final = (0.2, 2.5)
_STOPPED_S: Final = (1.0, 3.0)
_FULL_S: Final = (0.1, 1.0)


@dataclass(frozen=True)
class Strikes:
    """:param place: the directory of the run; ``over``: set when the job has ended."""

    session: SparkSession
    chance: random.Random
    place: Path
    over: threading.Event

    def pauses(self) -> Iterator[None]:
        """Comes back at each moment of a strike."""
        for _ in range(_STRIKES):
            if self.over.wait(self.chance.uniform(*_PAUSE_S)):
                return
            yield

    def targets(self, processes: Callable[[], list[int]]) -> Iterator[int]:
        """A process at each moment of a strike; at first there may be none yet."""
        for _ in self.pauses():
            while not (pids := processes()):
                if self.over.wait(_PAUSE_S[0]):
                    return
            yield self.chance.choice(sorted(pids))


def undisturbed(strikes: Strikes) -> int:
    return 0


def kill_executors(strikes: Strikes) -> int:
    return _signal(strikes, lambda: _executors(strikes.session), signal.SIGKILL)


def kill_workers(strikes: Strikes) -> int:
    return _signal(strikes, lambda: python_workers(strikes.session), signal.SIGKILL)


def stop_workers(strikes: Strikes) -> int:
    """A worker stands still for a while: Spark runs a copy of its task on the other host."""
    struck = 0
    for pid in strikes.targets(lambda: python_workers(strikes.session)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            struck += 1
            strikes.over.wait(strikes.chance.uniform(*_STOPPED_S))
            os.kill(pid, signal.SIGCONT)
    return struck


def fail_writes(strikes: Strikes) -> int:
    """For a while some writes of driver and workers fail half-way, with "no space left" or an I/O error."""
    struck = 0
    for _ in strikes.pauses():
        with faulty_files.failing(strikes.place):
            strikes.over.wait(strikes.chance.uniform(*_FULL_S))
        struck += 1
    return struck


def fill_disk(strikes: Strikes) -> int:
    """For a while all but a few bytes of the file system of the run are taken."""
    struck = 0
    ballast = strikes.place / "ballast"
    for _ in strikes.pauses():
        room = os.statvfs(strikes.place)
        left = strikes.chance.choice((0, 1, 4, 16, 64, 256)) << 10
        try:
            fd = os.open(ballast, os.O_CREAT | os.O_WRONLY)
            try:
                os.posix_fallocate(fd, 0, max(1, room.f_bavail * room.f_bsize - left))
            finally:
                os.close(fd)
            struck += 1
            strikes.over.wait(strikes.chance.uniform(*_FULL_S))
        except OSError:  # the job was quicker to fill it
            continue
        finally:
            ballast.unlink(missing_ok=True)
    return struck


KINDS: Final[dict[str, Callable[[Strikes], int]]] = {
    "undisturbed": undisturbed,
    "executor": kill_executors,
    "worker": kill_workers,
    "failing write": fail_writes,
    "full disk": fill_disk,
    "speculation": stop_workers,
    # The driver is struck from outside.
    "driver killed": undisturbed,
    "driver replaced": undisturbed,
    "fault points": undisturbed,
}


#: Begins the names of the same strikes at a job in real time.
REAL_TIME: Final = "real time: "
#: Begins the names of the same strikes at queries of SQL.
SQL: Final = "sql: "


def strike_of(kind: str) -> str:
    return kind.removeprefix(REAL_TIME).removeprefix(SQL)


@contextmanager
def struck(kind: str, session: SparkSession, seed: int, place: Path) -> Iterator[list[int]]:
    """Strike while the block runs; the list has the number of strikes when it has ended."""
    over = threading.Event()
    count: list[int] = []
    strikes = Strikes(session, random.Random(seed), place, over)
    thread = threading.Thread(target=lambda: count.append(KINDS[strike_of(kind)](strikes)), daemon=True)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join(patience(30))


def _signal(strikes: Strikes, targets: Callable[[], list[int]], number: signal.Signals) -> int:
    struck = 0
    for pid in strikes.targets(targets):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            struck += 1
    return struck


def _executors(session: SparkSession) -> list[int]:
    gateway = session.sparkContext._gateway
    assert gateway is not None
    found = []
    for process in psutil.Process(gateway.proc.pid).children(recursive=True):
        with suppress(psutil.Error):
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process.pid)
    return found


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """``place`` as a file system of its own of ``DISK_BYTES``, in memory."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield
    finally:
        # Workers may have files of the run open still: the mount goes when they close them.
        subprocess.run(["umount", "--lazy", str(place)], check=True, capture_output=True)


def hindrance(kind: str) -> str:
    """Why this kind of strike cannot be made by this process on this machine; empty: it can."""
    if strike_of(kind) != "full disk":
        return ""
    if os.geteuid() != 0:
        return "a small file system must be mounted, and only root may mount one"
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return f"a small file system must be mounted, and this process may not: {done.stderr.strip()}"
