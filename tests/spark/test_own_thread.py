"""Functions of tasks that read their input by themselves, where workers would read it in a thread."""

from __future__ import annotations

import os
import pickle

import pytest

from firesteel.spark.own_thread import InOwnThread

VARIABLE = "SPARK_PIPELINED_UDF"


def doubled(value: int) -> int:
    return 2 * value


def test_the_worker_has_no_thread_for_the_function_and_one_for_what_runs_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    function = pickle.loads(pickle.dumps(InOwnThread(doubled)))
    assert os.environ[VARIABLE] == "0", "the worker looks now"
    assert function(4) == 8
    assert os.environ[VARIABLE] == "1"


@pytest.mark.parametrize("value", [None, "0"])
def test_a_worker_without_threads_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    function = pickle.loads(pickle.dumps(InOwnThread(doubled)))
    assert function(4) == 8
    assert os.environ.get(VARIABLE) == value
