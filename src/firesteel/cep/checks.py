"""What is looked at before a pattern is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.pattern import GroupPattern, Pattern

__all__ = ["check_names", "check_skip"]


def check_names(pattern: Pattern, reserved: str) -> None:
    """Refuse two stages of one name, also in groups."""
    used = {reserved}
    for name in _names(pattern):
        if name in used:
            raise MalformedPatternError(f"Duplicate pattern name: {name}. Names must be unique.")
        used.add(name)


def _names(pattern: Pattern) -> Iterator[str]:
    for stage in reversed(pattern.stages()):
        if isinstance(stage, GroupPattern):
            yield from _names(stage.group)
        else:
            yield stage.name


def check_skip(pattern: Pattern) -> None:
    """Refuse to skip to a stage that the pattern does not have outside of groups."""
    name = pattern.after_match_skip_strategy.stage
    if name is not None and all(stage.name != name for stage in pattern.stages()):
        raise MalformedPatternError(
            "The pattern name specified in AfterMatchSkipStrategy can not be found in the given Pattern",
            detail=f"{name!r} is not one of {', '.join(repr(stage.name) for stage in pattern.stages())}",
        )
