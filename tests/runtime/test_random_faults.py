"""One call of users' code, drawn by chance, raises anything: the job fails, or its result is exact.

In one epoch or several, with a restart or without one; never are there fewer records in a job that ends well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings, strategies as st

from firesteel.common.errors import JobExecutionError
from tests.budget import examples

from .faults import PLACES, armed
from .support import collect, environment
from .test_fault_places import KINDS

DRAWN = sorted(PLACES)


Arm = Callable[[], None]


def result_of(arm: Arm, place: str, restarts: int, parallelism: int, epoch_records: int | None) -> list[Any]:
    """:param arm: called when the program is built: what it calls while it is built is not a job's."""
    armed.arm(0, ValueError())  # what lasts from before must not strike the program that is built
    options = {"restart-strategy.type": "none"}
    with tempfile.TemporaryDirectory() as directory:
        if restarts:
            options = {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": str(restarts),
                "restart-strategy.fixed-delay.delay": "1 ms",
                "execution.checkpointing.interval": "10 ms",
                "execution.checkpointing.dir": directory,
            }
        env = environment(parallelism, epoch_records=epoch_records, **options)
        program = PLACES[place](env)
        arm()
        return sorted(collect(program), key=repr)


def attempt(*program: Any) -> tuple[list[Any] | None, JobExecutionError | None]:
    try:
        return result_of(*program), None
    except JobExecutionError as failure:
        return None, failure


@settings(max_examples=examples(60), deadline=None)
@given(
    place=st.sampled_from(DRAWN),
    kind=st.sampled_from(KINDS),
    chance=st.floats(0, 1, exclude_max=True),
    restarts=st.integers(0, 2),
    lasting=st.booleans(),
    parallelism=st.integers(1, 3),
    epoch_records=st.sampled_from([None, 1, 4]),
)
def test_the_job_fails_or_its_result_is_exact(
    place: str,
    kind: type[BaseException],
    chance: float,
    restarts: int,
    lasting: bool,
    parallelism: int,
    epoch_records: int | None,
) -> None:
    """:param lasting: the fault stays, so that a restart does not help."""
    program = place, restarts, parallelism, epoch_records
    expected = result_of(lambda: armed.arm(0, ValueError()), *program)
    at = 1 + int(chance * armed.calls)
    found, failure = attempt(lambda: armed.arm(at, kind("slipped"), once=not lasting), *program)
    if failure is None:
        assert found == expected
        return
    assert lasting or not restarts, failure
    assert type(failure.__cause__) is kind
    assert failure.operator in ("here", "Source: here", "Sink: here")
    assert failure.subtask in range(parallelism)
