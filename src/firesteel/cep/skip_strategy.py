"""After a match: which of the other partial and complete matches are given up."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from firesteel.cep.errors import MalformedPatternError

__all__ = ["AfterMatchSkipStrategy", "Skip"]


class Skip(enum.Enum):
    NO_SKIP = "no_skip"
    TO_NEXT = "skip_to_next"
    PAST_LAST_EVENT = "skip_past_last_event"
    TO_FIRST = "skip_to_first"
    TO_LAST = "skip_to_last"


@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """What happens to the other matches once one is found (Flink: ``AfterMatchSkipStrategy``).

    A match counts when no partial match that began before it is left. Then those go that began too early:

    - ``no_skip``: none; every match comes out.
    - ``skip_to_next``: those that began with the same event.
    - ``skip_past_last_event``: those that began at or before the last event of the match.
    - ``skip_to_first(stage)``, ``skip_to_last(stage)``: those that began before the first, or last,
      event that the match has for that stage.
    """

    skip: Skip
    stage: str | None = None
    fails_on_miss: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        return AfterMatchSkipStrategy(Skip.NO_SKIP)

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        return AfterMatchSkipStrategy(Skip.TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        return AfterMatchSkipStrategy(Skip.PAST_LAST_EVENT)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Skip to the first event of a stage; a match that has none for it skips nothing."""
        return AfterMatchSkipStrategy(Skip.TO_FIRST, _name(pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Skip to the last event of a stage; a match that has none for it skips nothing."""
        return AfterMatchSkipStrategy(Skip.TO_LAST, _name(pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Return the strategy that fails the job when a match has no event to skip to, or begins with it.

        :raises MalformedPatternError: the strategy does not skip to a stage.
        """
        if self.stage is None:
            raise MalformedPatternError(
                "Only skip_to_first and skip_to_last can miss the event to skip to.",
                detail=f"the strategy is {self.skip.value}",
            )
        return replace(self, fails_on_miss=True)

    def __str__(self) -> str:
        return self.skip.value if self.stage is None else f"{self.skip.value}({self.stage})"


def _name(name: str) -> str:
    if not isinstance(name, str):
        raise MalformedPatternError("A skip strategy names a stage of the pattern.", detail=f"got {name!r}")
    return name
