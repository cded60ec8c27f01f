"""Whatever users' code raises, wherever it is called, fails the job with it; no record is lost silently."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.errors import FiresteelError, JobExecutionError
from firesteel.program.operator_kinds import KINDS as KINDS_OF_OPERATORS
from firesteel.runtime import chain
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.udf import udf

from .faults import PLACES, armed
from .support import collect, environment


class Own(BaseException):
    """As users may have one."""


KINDS = (ValueError, StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit, Own)


def run(place: str, at: int = 0, error: BaseException | None = None) -> list[Any]:
    armed.arm(at, error or ValueError())
    env = environment(2, restart_strategy_type="none")
    return sorted(collect(PLACES[place](env)), key=repr)


calls: dict[str, int] = {}


def calls_of(place: str) -> int:
    """How often the user's code of the place is called when nothing slips."""
    if place not in calls:
        run(place)
        calls[place] = armed.calls
    return calls[place]


def test_the_places_are_in_every_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that is added must have a place here for each call of users' code."""
    built: set[str] = set()
    build = chain.build_operator
    # Those of tables call users' code by way of functions; see test_a_function_of_a_table_fails_the_job.
    own = {
        name
        for name, kind in ((name, KINDS_OF_OPERATORS.named(name)) for name in KINDS_OF_OPERATORS.names())
        if KINDS_OF_OPERATORS.is_own(name) and not kind.spec.__module__.startswith("firesteel.sql.")
    }

    def noted(program: OperatorProgram) -> BaseOperator:
        kind = type(program.spec).__name__
        if kind in own and program.name == "here":
            built.add(kind)
        return build(program)

    monkeypatch.setattr(chain, "build_operator", noted)
    for place in PLACES:
        run(place)
    assert len(own) > 15
    assert built == own - {"Project"}  # which calls nothing of the user's


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("place", PLACES)
def test_the_job_fails_with_what_is_raised(place: str, kind: type[BaseException]) -> None:
    """At the last call, and for a StopIteration, which ends loops, at the first one too."""
    last = calls_of(place)
    assert last > 0, "the place is never reached"
    for at in {1, last} if kind is StopIteration else {last}:
        with pytest.raises(JobExecutionError) as failure:
            run(place, at, kind("slipped"))
        assert type(failure.value.__cause__) is kind, failure.value
        assert failure.value.operator in ("here", "Source: here", "Sink: here")
        assert failure.value.subtask in (0, 1)
        assert kind.__name__ in str(failure.value).splitlines()[0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_function_of_a_table_fails_the_job(kind: type[BaseException]) -> None:
    tables = StreamTableEnvironment.create(environment(1, restart_strategy_type="none"))

    @udf(result_type=DataTypes.BIGINT())
    def slips(value: int) -> int:
        if value == 2:
            raise kind("slipped")
        return value

    tables.create_temporary_function("slips", slips)
    with (
        pytest.raises(FiresteelError) as failure,
        tables.sql_query("SELECT slips(v) FROM (VALUES (1), (2), (3)) AS t(v)").execute().collect() as rows,
    ):
        list(rows)
    assert kind.__name__ in str(failure.value), failure.value
