"""A pattern for the job that everything is killed under, and what it must find: no match may be lost or
doubled, nor a partial match that times out. Events are numbers; a key has several partial matches open at
once, for longer than an epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from firesteel.cep import CEP, Pattern
from firesteel.common import Types
from firesteel.datastream import DataStream, KeyedStream, OutputTag

WITHIN_MS: Final = 1_600
_TIMED_OUT: Final = OutputTag("timed out", Types.STRING())


def _begins(number: int) -> bool:
    return number % 7 < 5


def _goes_on(number: int, first: int) -> bool:
    return (number + first) % 7 < 2


def _ends(number: int) -> bool:
    return number % 7 > 3


def pattern() -> Pattern:
    return (
        Pattern.begin("first")
        .where(_begins)
        .followed_by("second")
        .where(lambda number, ctx: _goes_on(number, *ctx.get_events_for_pattern("first")))
        .followed_by("third")
        .where(_ends)
        .within(WITHIN_MS)
    )


def found(numbers: KeyedStream) -> DataStream:
    """The matches of the pattern and the partial ones that timed out, a text for each."""
    matches = CEP.pattern(numbers, pattern()).select(
        lambda match: _line("match", _numbers(match)),
        Types.STRING(),
        timed_out_partial_matches_tag=_TIMED_OUT,
        pattern_timeout_function=lambda match, at: _line(f"timed out at {at}", _numbers(match)),
    )
    return matches.uid("matches").union(matches.get_side_output(_TIMED_OUT))


def _numbers(match: dict[str, list[Any]]) -> list[int]:
    return [number for events in match.values() for number in events]


def _line(what: str, numbers: Sequence[int]) -> str:
    return f"{what}: {' '.join(map(str, numbers))}"


def expected(events: Sequence[tuple[int, int]]) -> Iterator[str]:
    """What is found in a key.

    :param events: timestamps and numbers, in order.
    """
    for place, (begun, first) in enumerate(events):
        if not _begins(first):
            continue
        taken = [first]
        for at, number in events[place + 1 :]:
            if at - begun >= WITHIN_MS or len(taken) == 3:
                break
            if _goes_on(number, first) if len(taken) == 1 else _ends(number):
                taken.append(number)
        yield _line("match" if len(taken) == 3 else f"timed out at {begun + WITHIN_MS}", taken)
