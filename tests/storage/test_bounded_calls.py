"""Calls that are made in other threads, of which some never return."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import wait

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options.checks import check
from firesteel.storage.bounded_calls import Callers, bound_calls, call_limit_s
from tests.waiting import patience, until

NEVER_ENDS = """
import threading
from firesteel.storage.bounded_calls import Callers
callers = Callers("never")
callers.begin(threading.Event().wait)
print(callers.begin(lambda: "answered").result(10))
"""


def named(name: str) -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == name}


def test_calls_after_each_other_need_one_thread() -> None:
    callers = Callers("one")
    try:
        idents = {callers.begin(threading.get_ident).result(patience(10)) for _ in range(50)}
        assert len(idents) == 1
        assert threading.get_ident() not in idents
    finally:
        callers.end()
    until(lambda: not named("one"))


def test_a_call_that_does_not_return_is_in_nobodys_way() -> None:
    callers, leave = Callers("stuck"), threading.Event()
    try:
        stuck = [callers.begin(leave.wait) for _ in range(3)]
        assert callers.begin(lambda: 7).result(patience(10)) == 7
        assert not any(call.done() for call in stuck)
        leave.set()
        assert len(wait(stuck, patience(10)).done) == 3
        callers.begin(lambda: None).result(patience(10))
        assert len(named("stuck")) == 4, "as many as there were calls at once"
    finally:
        callers.end()
    until(lambda: not named("stuck"))


def test_a_thread_that_is_stuck_when_all_end_ends_later() -> None:
    callers, leave = Callers("late"), threading.Event()
    stuck = callers.begin(leave.wait)
    callers.end()
    assert not stuck.done()
    leave.set()
    until(lambda: not named("late"))


def test_errors_come_to_who_asks_and_the_thread_stays() -> None:
    class Panic(BaseException):
        """As Rust's are in Python."""

    def fails() -> None:
        raise Panic("no")

    callers = Callers("fails")
    try:
        with pytest.raises(Panic, match="no"):
            callers.begin(fails).result(patience(10))
        assert callers.begin(lambda: 1).result(patience(10)) == 1
        assert len(named("fails")) == 1
    finally:
        callers.end()


def test_a_process_ends_in_spite_of_a_call_that_does_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NEVER_ENDS], capture_output=True, text=True, timeout=patience(30)
    )
    assert (done.returncode, done.stdout) == (0, "answered\n"), done.stderr


def test_the_limit_is_an_option() -> None:
    assert call_limit_s() == 120
    try:
        bound_calls(Configuration.from_dict({"firesteel.hdfs.timeout": "1500 ms"}))
        assert call_limit_s() == 1.5
    finally:
        bound_calls(Configuration())
    with pytest.raises(ConfigurationError, match=r"firesteel\.hdfs\.timeout"):
        check(Configuration.from_dict({"firesteel.hdfs.timeout": "0 s"}))
