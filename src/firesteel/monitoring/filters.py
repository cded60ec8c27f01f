"""Which metrics a reporter is given: ``filter.includes`` and ``filter.excludes``, written as in Flink.

A pattern is ``scope:name:types``, each part ``*`` or left out for anything, parts may have several entries
with commas between them, and ``*`` stands for any characters: ``*:numRecords*:counter,meter``. The scope is
the logical one: ``taskmanager.job.task.operator``, with the user's groups behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from firesteel.monitoring.measures import Kind
from firesteel.monitoring.samples import Sample

_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Pattern:
    scope: re.Pattern[str]
    name: re.Pattern[str]
    kinds: frozenset[Kind]

    @staticmethod
    def of(text: str) -> Pattern:
        """:raises ValueError: it is not a pattern."""
        parts = [part.strip() for part in text.split(":")]
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"{text!r} is not scope:name:types")
        scope, name, kinds = (*parts, *[_ALL] * (3 - len(parts)))
        return Pattern(_matching(scope), _matching(name), _kinds(kinds))

    def takes(self, scope: str, sample: Sample) -> bool:
        return (
            sample.kind in self.kinds
            and self.name.fullmatch(sample.name) is not None
            and self.scope.fullmatch(scope) is not None
        )


def _matching(entries: str) -> re.Pattern[str]:
    alternatives = [re.escape(entry.strip()).replace(r"\*", ".*") for entry in entries.split(",")]
    return re.compile("|".join(alternatives))


def _kinds(entries: str) -> frozenset[Kind]:
    if entries == _ALL:
        return frozenset(Kind)
    return frozenset(Kind(entry.strip().lower()) for entry in entries.split(","))


def logical_scope(sample: Sample) -> str:
    """``taskmanager.job.task.operator.tenant``: without the values of a user's groups."""
    return ".".join((sample.scope.value, *(name for name, _ in sample.measure.groups)))


@dataclass(frozen=True, slots=True)
class Filter:
    includes: tuple[Pattern, ...]
    excludes: tuple[Pattern, ...]

    @staticmethod
    def of(includes: list[str], excludes: list[str]) -> Filter:
        """:raises ValueError: one of them is not a pattern."""
        return Filter(tuple(map(Pattern.of, includes or (_ALL,))), tuple(map(Pattern.of, excludes)))

    def takes(self, sample: Sample) -> bool:
        scope = logical_scope(sample)
        if any(pattern.takes(scope, sample) for pattern in self.excludes):
            return False
        return any(pattern.takes(scope, sample) for pattern in self.includes)
