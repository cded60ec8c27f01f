"""Each program of ``programs/`` prints here what it prints under PyFlink (``reference/``, by ``make_reference.py``)."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firesteel.cli import pyflink_alias
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.datastream._session_defaults import set_session_defaults
from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import set_executor
from firesteel.runtime import watermarks, worker
from firesteel.testing.local_platform import LocalEngine, LocalPlatform
from tests.runtime.engines import FaultyEngine

from .comparison import HERE, PROGRAMS, REFERENCE, SETTINGS, comparable

#: Programs whose output is not PyFlink's: what is right instead stands in ``different/``, and here is why.
DIFFERENT = {
    "timer_again": "PyFlink delivers timers that on_timer registers only with the next watermark; Java at once",
    "window_batch": "PyFlink loses the first record of all keys but the first in BATCH windows; Java does not",
    "window_session_aggregates": "PyFlink keeps one of two aggregates when sessions merge; Java merges them",
    "window_session_count_trigger": "PyFlink loses the counts of sessions that merge; Java adds them up",
    "keys_numpy": "a NumPy number is the key that its Python value is, and not a key for each NumPy type",
    "refused": "a keyed function without keys is refused; flat_map may return None for no records",
}


#: Programs whose functions count in ``self``, which is lost with the process and not taken back with the epoch.
KEEPS_IN_SELF = ("async_retry", "partition_spread", "runtime_context")


REAL_TIME = {"execution.mode": "real-time", "firesteel.real-time.epoch": "20 ms"}
#: Programs in BATCH mode.
REFUSED_IN_REAL_TIME = (
    "batch",
    "broadcast_batch",
    "broadcast_parallel",
    "connect_batch",
    "rolling_batch",
    "timer_batch",
    "timer_same_time",
    "window_batch",
    "window_batch_one_key",
    "window_processing_time",
)


#: Programs about files that are put where workers run: ``test_on_spark.py`` runs them.
OF_WORKERS = ("files_in_workers",)
HERE_TOO = [n for n in PROGRAMS if n not in OF_WORKERS]


def expected(name: str) -> list[str]:
    directory = REFERENCE.with_name("different") if name in DIFFERENT else REFERENCE
    return (directory / f"{name}.txt").read_text("utf-8").splitlines()


def test_what_is_different_really_is() -> None:
    for name in DIFFERENT:
        assert expected(name) != (REFERENCE / f"{name}.txt").read_text("utf-8").splitlines()


Run = Callable[..., list[str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """``import pyflink`` gives firesteel, jobs run in this process, and watermarks come after each record."""
    monkeypatch.setattr(watermarks, "PERIOD_RECORDS", 1)
    finders, path = list(sys.meta_path), list(sys.path)
    pyflink_alias.install()
    sys.path.insert(0, str(HERE / "programs"))
    before = set_executor(None)
    try:
        yield run_program
    finally:
        set_executor(before)
        set_session_defaults({})
        worker.close_everything()
        sys.meta_path[:], sys.path[:] = finders, path
        for name in [n for n in sys.modules if n.partition(".")[0] in ("pyflink", "timed")]:
            del sys.modules[name]


def run_program(
    program: Path, make_engine: Callable[[], LocalEngine] = LocalEngine, **options: str
) -> list[str]:
    """What it prints; ``options`` are configuration keys."""
    set_session_defaults(SETTINGS | options)
    executor = Executor(lambda: LocalPlatform(make_engine))
    set_executor(executor)
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(str(program), run_name="__main__")
    finally:
        executor.cancel_all()
    return comparable(program, output.getvalue())


@pytest.mark.parametrize("name", HERE_TOO)
def test_a_program_in_one_epoch(name: str, run: Run) -> None:
    assert run(PROGRAMS[name]) == expected(name)


@pytest.mark.parametrize("name", HERE_TOO)
def test_a_program_with_an_epoch_for_each_record(name: str, run: Run) -> None:
    options = {"firesteel.epoch.max-records": "1"}
    assert run(PROGRAMS[name], **options) == expected(name)


@pytest.mark.parametrize("name", [n for n in HERE_TOO if n not in KEEPS_IN_SELF])
def test_a_program_with_tasks_and_epochs_that_run_again(name: str, run: Run) -> None:
    """For all that the programs use: nothing is lost, doubled or in another order."""
    seeds = iter(range(zlib.crc32(name.encode()), 1 << 33))
    options = {"firesteel.epoch.max-records": "3", "firesteel.epoch.attempts": "100"}
    assert run(PROGRAMS[name], lambda: FaultyEngine(next(seeds)), **options) == expected(name)


@pytest.mark.parametrize("name", [n for n in HERE_TOO if n not in REFUSED_IN_REAL_TIME])
def test_a_program_in_real_time(name: str, run: Run) -> None:
    assert run(PROGRAMS[name], **REAL_TIME) == expected(name)


@pytest.mark.parametrize("name", REFUSED_IN_REAL_TIME)
def test_a_batch_program_is_refused_in_real_time(name: str, run: Run) -> None:
    with pytest.raises(UnsupportedFeatureError, match="BATCH mode does not run in real time"):
        run(PROGRAMS[name], **REAL_TIME)
