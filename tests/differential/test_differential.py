"""Each program of ``programs/`` prints here what it prints under PyFlink (``reference/``, by ``make_reference.py``)."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.common import pyflink_alias
from firesteel.common._executor_registry import set_executor
from firesteel.datastream._session_defaults import set_session_defaults
from firesteel.jobmanager.executor import Executor
from firesteel.runtime import watermarks, worker
from firesteel.testing.local_platform import LocalPlatform

from .comparison import HERE, PROGRAMS, REFERENCE, comparable

# Where PyFlink is wrong and firesteel does what Flink does in Java: the right output is in ``corrected/``.
CORRECTED: dict[str, str] = {}


@pytest.fixture
def as_pyflink() -> Iterator[None]:
    """``import pyflink`` gives firesteel, jobs run in this process, and watermarks come after each record."""
    finders, path = list(sys.meta_path), list(sys.path)
    pyflink_alias.install()
    sys.path.insert(0, str(HERE / "programs"))
    executor = Executor(LocalPlatform)
    before = set_executor(executor)
    try:
        yield
    finally:
        executor.cancel_all()
        set_executor(before)
        set_session_defaults({})
        worker.forget_everything()
        sys.meta_path[:], sys.path[:] = finders, path
        for name in [n for n in sys.modules if n.partition(".")[0] in ("pyflink", "timed")]:
            del sys.modules[name]


def run(program: Path) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(program), run_name="__main__")
    return output.getvalue()


#: Programs whose output is not PyFlink's: what is right instead stands in ``different/``, and here is why.
DIFFERENT = {
    "timer_again": "PyFlink delivers timers that on_timer registers only with the next watermark; Java at once",
    "window_batch": "PyFlink loses the first record of all keys but the first in BATCH windows; Java does not",
    "window_session_aggregates": "PyFlink keeps one of two aggregates when sessions merge; Java merges them",
    "window_session_count_trigger": "PyFlink loses the counts of sessions that merge; Java adds them up",
    "refused": "a keyed function without keys is refused; flat_map may return None for no records",
    "keys_typed": "a declared key type is not applied to the keys: they stay as the selector gives them",
    "state_types": "a declared type is not applied to what state holds: it comes back as it was put in",
}


def expected(name: str) -> list[str]:
    directory = REFERENCE.with_name("different") if name in DIFFERENT else REFERENCE
    return (directory / f"{name}.txt").read_text("utf-8").splitlines()


def test_what_is_different_really_is() -> None:
    for name in DIFFERENT:
        assert expected(name) != (REFERENCE / f"{name}.txt").read_text("utf-8").splitlines()


@pytest.mark.usefixtures("as_pyflink")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_in_one_epoch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watermarks, "PERIOD_RECORDS", 1)
    assert comparable(PROGRAMS[name], run(PROGRAMS[name])) == expected(name)


@pytest.mark.usefixtures("as_pyflink")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_an_epoch_for_each_record(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watermarks, "PERIOD_RECORDS", 1)
    set_session_defaults({"firesteel.epoch.max-records": "1"})
    assert comparable(PROGRAMS[name], run(PROGRAMS[name])) == expected(name)
