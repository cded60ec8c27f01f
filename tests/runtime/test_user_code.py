"""What is a failure of the user's code, and what it looks like on its way to the driver."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import pytest

from firesteel.runtime.error_report import report_of
from firesteel.runtime.user_code import UserCode, UserCodeError


class Own(BaseException):
    """As users may have one."""


KINDS = [
    ValueError("bad"),
    StopIteration("no more"),
    StopAsyncIteration("no more"),
    GeneratorExit("over"),
    KeyboardInterrupt("stop"),
    SystemExit("config missing"),
    Own("mine"),
]


@pytest.mark.parametrize("error", KINDS, ids=lambda e: type(e).__name__)
def test_whatever_is_raised_belongs_to_the_operator(error: BaseException) -> None:
    with pytest.raises(UserCodeError) as failure, UserCode("name", "uid"):
        raise error
    assert failure.value.__cause__ is error
    assert (failure.value.operator, failure.value.uid) == ("name", "uid")


def test_the_innermost_operator_counts() -> None:
    with pytest.raises(UserCodeError) as failure, UserCode("first", "1"), UserCode("second", "2"):
        raise ValueError
    assert failure.value.operator == "second"


def generates(error: BaseException) -> Iterator[int]:
    yield 1
    raise error


async def awaits(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("error", [StopIteration("no more"), StopAsyncIteration("no more")])
@pytest.mark.parametrize("of_generator", [True, False])
def test_what_python_puts_in_the_place_of_a_stop_iteration_is_taken_away_again(
    error: Exception, of_generator: bool
) -> None:
    run = partial(list, generates(error)) if of_generator else partial(awaits(error).send, None)
    with pytest.raises(UserCodeError) as failure, UserCode("name", "uid"):
        run()
    assert failure.value.__cause__ is error


def test_a_runtime_error_of_the_users_own_stays() -> None:
    with pytest.raises(UserCodeError) as failure, UserCode("name", "uid"):
        raise RuntimeError("no luck") from StopIteration()
    assert type(failure.value.__cause__) is RuntimeError


def test_what_is_done_between_steps_is_not_the_users() -> None:
    def endless() -> Generator[None]:
        while True:
            yield

    steps = UserCode("name", "uid").steps(endless())
    next(steps)
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt)  # type: ignore[attr-defined]


# ---- reports


def failure_of(error: BaseException) -> UserCodeError:
    with pytest.raises(UserCodeError) as failure, UserCode("name", "uid"):
        raise error
    return failure.value


class Unshowable(Exception):
    def __str__(self) -> str:
        raise SystemExit("in __str__")

    __repr__ = __str__


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise KeyboardInterrupt("in __reduce__")


class Explosive(Exception):
    def __setstate__(self, state: Any) -> None:
        raise GeneratorExit("in __setstate__")

    def __reduce__(self) -> Any:
        return Explosive, (), {"a": 1}


class BadNotes(Exception):
    @property
    def __notes__(self) -> list[str]:
        raise SystemExit("in __notes__")


@pytest.mark.parametrize("kind", [Unshowable, Unpicklable, Explosive, BadNotes], ids=lambda k: k.__name__)
def test_a_report_is_made_of_any_exception(kind: type[Exception]) -> None:
    report = pickle.loads(pickle.dumps(report_of(failure_of(kind("some text")), 3)))
    assert (report.operator, report.uid, report.subtask) == ("name", "uid", 3)
    assert kind.__name__ in report.summary
    assert "failure_of" in report.traceback


def test_a_huge_exception_becomes_a_small_report() -> None:
    report = report_of(failure_of(ValueError("begin" + "x" * 50_000_000 + "end")), 0)
    assert len(pickle.dumps(report)) < 100_000
    assert report.error is None
    assert report.summary.startswith("ValueError: begin")
    assert report.summary.endswith("end")


def test_a_group_shows_all_of_its_members() -> None:
    group = ExceptionGroup("several", [ValueError("first"), LookupError("second")])
    report = report_of(failure_of(group), 0)
    assert report.summary == "ExceptionGroup: several (2 sub-exceptions)"
    assert "ValueError: first" in report.traceback
    assert "LookupError: second" in report.traceback
    assert isinstance(pickle.loads(report.error or b""), ExceptionGroup)
