"""What a pattern matches, by definition: every sub-sequence of the events is looked at, without an automaton.

A match gives each stage some events, in the order of the stream. Which ones it may be follows from what lies
between two of its events:

- ``next``: nothing. ``followed_by``: no event that the stage would take. ``followed_by_any``: anything. The
same
  holds between the events of a repeated stage, which is relaxed unless ``consecutive`` or
  ``allow_combinations`` says otherwise.
- After a greedy stage comes nothing that it would take.
- ``not_next``: the event directly after is not of that kind. ``not_followed_by``: no event up to and with the
  next one of the match is, unless that one completes it; nor is one within a repeated stage before it, once
  that has begun.
- ``until``: neither an event of the loop is of that kind nor, once it has begun, one between them.
- ``within``: the first and the last event are less than that apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Events = list[list[Any]]  # timestamp, kind, value
Match = tuple[tuple[str, tuple[int, ...]], ...]
Holds = Callable[[int], bool]


@dataclass(frozen=True)
class Stage:
    name: str
    link: str  # to the event before
    inner: str = "followed_by"
    kinds: str = ""
    least: int = 1
    most: int | None = 1  # None: any number
    optional: bool = False
    greedy: bool = False
    until: str = ""
    not_next: str = ""  # kinds that must not come directly before it
    not_followed_by: str = ""  # kinds that must not come between the stage before and it

    @property
    def is_repeated(self) -> bool:
        return self.most != 1 or self.least != 1


@dataclass(frozen=True)
class Shape:
    stages: tuple[Stage, ...]
    within: int | None = None
    not_at_end: str = ""  # kinds of a not_followed_by that is the last stage
    skip: tuple[str, ...] = field(default=("no_skip",))

    def spec(self) -> dict[str, Any]:
        """The pattern in the form of ``programs.py``."""
        stages: list[dict[str, Any]] = []
        for stage in self.stages:
            if stage.not_next:
                stages.append(_negative("not_next", f"no_{stage.name}", stage.not_next))
            if stage.not_followed_by:
                stages.append(_negative("not_followed_by", f"not_{stage.name}", stage.not_followed_by))
            stages.append({"link": stage.link, "name": stage.name, "steps": _steps(stage)})
        if self.not_at_end:
            stages.append(_negative("not_followed_by", "end", self.not_at_end))
        if self.within is not None:
            stages[-1]["steps"].append(["within", self.within])
        return {"stages": stages, "skip": list(self.skip)}


def _negative(link: str, name: str, kinds: str) -> dict[str, Any]:
    return {"link": link, "name": name, "steps": _where(kinds)}


def _where(kinds: str) -> list[Any]:
    return [["where" if place == 0 else "or_where", ["kind", kind]] for place, kind in enumerate(kinds)]


def _steps(stage: Stage) -> list[Any]:
    steps = _where(stage.kinds)
    if stage.most is None:
        steps.append(["times_or_more", stage.least])
    elif stage.is_repeated:
        steps.append(["times_range", stage.least, stage.most])
    if stage.inner == "next":
        steps.append(["consecutive"])
    elif stage.inner == "followed_by_any":
        steps.append(["allow_combinations"])
    if stage.until:
        steps.append(["until", ["kind", stage.until]])
    if stage.greedy:
        steps.append(["greedy"])
    if stage.optional:
        steps.append(["optional"])
    return steps


def matches(shape: Shape, events: Events) -> list[Match]:
    """All matches, in no order that matters, of a pattern that skips nothing."""
    found = []
    for counts in product(*(_counts(stage, len(events)) for stage in shape.stages)):
        if sum(counts) == 0:
            continue
        slots = [(s, r) for s, count in enumerate(counts) for r in range(count)]
        for places in _places(shape, events, slots, ()):
            if _in_time(shape, events, places) and _ends_well(shape, events, places, slots):
                found.append(_as_match(shape, slots, places))
    return found


def _counts(stage: Stage, most: int) -> list[int]:
    counts = list(range(stage.least, (most if stage.most is None else stage.most) + 1))
    return [0, *counts] if stage.optional else counts


def _as_match(shape: Shape, slots: list[tuple[int, int]], places: tuple[int, ...]) -> Match:
    by_stage: dict[str, list[int]] = {}
    for (stage, _), place in zip(slots, places, strict=True):
        by_stage.setdefault(shape.stages[stage].name, []).append(place)
    return tuple((name, tuple(each)) for name, each in by_stage.items())


def _places(
    shape: Shape, events: Events, slots: list[tuple[int, int]], taken: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    if len(taken) == len(slots):
        yield taken
        return
    for place in range(taken[-1] + 1 if taken else 0, len(events)):
        if _may_take(shape, events, slots, taken, place):
            yield from _places(shape, events, slots, (*taken, place))


def _may_take(
    shape: Shape, events: Events, slots: list[tuple[int, int]], taken: tuple[int, ...], place: int
) -> bool:
    number, repetition = slots[len(taken)]
    stage = shape.stages[number]
    kind = [event[1] for event in events]
    if kind[place] not in stage.kinds or (stage.until and kind[place] in stage.until):
        return False
    if not taken:
        return True
    between = kind[taken[-1] + 1 : place]
    up_to = [*between, kind[place]]
    link = stage.inner if repetition else stage.link
    if not _gap_is_right(link, stage, between):
        return False
    if repetition:
        following = shape.stages[number + 1] if number + 1 < len(shape.stages) else None
        unwanted = shape.not_at_end if following is None else following.not_followed_by
        return not any(k in stage.until or k in unwanted for k in up_to)
    if len(taken) + 1 == len(slots) and not shape.not_at_end:
        # As in Flink: the event that completes a match may be of a kind that must not come before it.
        negative = between
    else:
        negative = up_to
    before = slots[len(taken) - 1][0]
    for passed in shape.stages[before + 1 : number + 1]:
        if any(k in passed.not_followed_by for k in negative):
            return False
        if passed.not_next and up_to[0] in passed.not_next:
            return False
    last = shape.stages[before]
    return not (last.greedy and any(k in last.kinds for k in up_to))


def _gap_is_right(link: str, stage: Stage, between: list[str]) -> bool:
    if link == "next":
        return not between
    return link == "followed_by_any" or not any(kind in stage.kinds for kind in between)


def _in_time(shape: Shape, events: Events, places: tuple[int, ...]) -> bool:
    return shape.within is None or events[places[-1]][0] - events[places[0]][0] < shape.within


def _ends_well(shape: Shape, events: Events, places: tuple[int, ...], slots: list[tuple[int, int]]) -> bool:
    if not shape.not_at_end:
        return True
    assert shape.within is not None
    end = events[places[0]][0] + shape.within
    return not any(kind in shape.not_at_end and t < end for t, kind, _ in events[places[-1] + 1 :])


# ---- skip strategies


def is_skipping_right(shape: Shape, everything: list[Match], found: list[Match]) -> bool:
    """Whether *found* are the matches that are left of *everything*: again and again one that begins first,
    and then without those that the strategy skips."""
    rest = list(everything)
    for match in found:
        if match not in rest or _first(match) != min(map(_first, rest)):
            return False
        rest.remove(match)
        least = _first_kept(shape.skip, match)
        rest = [other for other in rest if _first(other) >= least]
    return not rest


def _first(match: Match) -> int:
    return min(events[0] for _, events in match)


def _first_kept(skip: tuple[str, ...], match: Match) -> int:
    by_stage = dict(match)
    match skip[0]:
        case "skip_to_next":
            return _first(match) + 1
        case "skip_past_last_event":
            return max(events[-1] for events in by_stage.values()) + 1
        case "skip_to_first":
            return by_stage[skip[1]][0] if skip[1] in by_stage else 0
        case "skip_to_last":
            return by_stage[skip[1]][-1] if skip[1] in by_stage else 0
    return 0
