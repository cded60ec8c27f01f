"""Work in the background that gives way to the programs of this user that start: it waits while one starts,
uses only idle processor time, and starts over later if a program starts in the meantime.

A low priority alone is not enough: where the kernel schedules by sessions (Linux, autogroup), ``nice`` counts
within a session only; and memory and disk know no such priority.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from firesteel.common.clock import Clock, SystemClock
from firesteel.spark.launch import STARTED, last_started
from firesteel.storage.held_directories import is_held
from firesteel.storage.process_directory import PREFIX, process_directory

#: A program counts as one that starts for so long after it has started its JVM, if it still runs.
STARTS_FOR_MS: Final = 30_000
#: After that long without a quiet moment the work is left to a later program.
PATIENCE_S: Final = 1800.0
_LOOK_S: Final = 0.25
_BEGUN: Final = (
    "FIRESTEEL_BACKGROUND_WORK_BEGUN"  # in seconds of the monotonic clock; survives a new beginning
)
_LOWEST: Final = 19


def give_way() -> None:
    """Wait for a quiet moment, then watch for programs that start: this process and its JVM are then ended at
    once, and the work starts over. Exits if no quiet moment comes."""
    clock = SystemClock()
    begun_s = float(os.environ.setdefault(_BEGUN, str(clock.monotonic_s())))
    take_what_is_left()
    if not await_quiet(clock, begun_s + PATIENCE_S, others_start):
        sys.exit()
    begin_anew = partial(_begin_anew, dict(os.environ))
    threading.Thread(target=watch, args=(clock, others_start, begin_anew), daemon=True).start()


def await_quiet(clock: Clock, deadline_s: float, others_start: Callable[[int], bool]) -> bool:
    """Wait until no program starts; False: there was no such moment before the deadline."""
    while others_start(clock.now_ms()):
        if clock.monotonic_s() > deadline_s:
            return False
        clock.sleep(_LOOK_S)
    return True


def watch(clock: Clock, others_start: Callable[[int], bool], begin_anew: Callable[[], None]) -> None:
    """Call *begin_anew* when a program starts."""
    lowered = None
    while not others_start(clock.now_ms()):
        jvm = last_started()
        if jvm is not None and jvm.pid != lowered:
            lowered = jvm.pid
            lower_session(lowered)
        clock.sleep(_LOOK_S)
    begin_anew()


def others_start(now_ms: int) -> bool:
    """Whether another program of ours has just started a JVM."""
    own = process_directory()
    return any(
        now_ms - started_ms < STARTS_FOR_MS
        for directory, started_ms in _started(Path(gettempdir()))
        if directory != own and is_held(directory)
    )


def _started(base: Path) -> Iterator[tuple[Path, int]]:
    for directory in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            yield directory, (directory / STARTED).stat().st_mtime_ns // 1_000_000


def take_what_is_left() -> None:
    """Let this process and those it starts have processor time that nobody else wants."""
    os.nice(_LOWEST)
    with suppress(OSError, AttributeError):  # Linux
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    lower_session(os.getpid())


def lower_session(pid: int) -> None:
    """The same among the sessions, for the session that a process leads; Linux only. One that it does not
    lead has others in it, a user's shell for instance."""
    with suppress(OSError):
        if os.getsid(pid) == pid:
            Path("/proc", str(pid), "autogroup").write_text(str(_LOWEST))


def _begin_anew(environment: Mapping[str, str]) -> None:
    jvm = last_started()
    if jvm is not None:
        jvm.kill()  # one that ends in order writes its archive first
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
