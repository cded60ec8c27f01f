"""Pattern programs as data, made by seed; the same ones run on Flink (``reference/CepReference.java``).

A program is ``{"pattern": {"stages": [...], "skip": [...]}, "events": [[timestamp, kind, value], ...], "end":
timestamp}``. A stage is ``{"link": "begin" | "next" | ..., "name": ..., "steps": [[method, argument, ...],
...]}``, or has a "group" of stages instead of a name. A condition is ``["kind", k]``, ``["over", v]``, or
iterative: ``["rising", stage]``, ``["sum_below", stage, limit]``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from firesteel.cep.pattern import Pattern, WithinType
from firesteel.cep.skip_strategy import AfterMatchSkipStrategy

Spec = dict[str, Any]


# ---- from data to a pattern


def pattern_of(spec: Spec) -> Pattern:
    return _chain(spec["stages"], _skip(spec.get("skip", ["no_skip"])))


def _skip(spec: list[str]) -> AfterMatchSkipStrategy:
    strategy = getattr(AfterMatchSkipStrategy, spec[0])(*spec[1:2])
    return strategy.throw_exception_on_miss() if len(spec) > 2 else strategy


def _chain(stages: list[Spec], skip: AfterMatchSkipStrategy | None = None) -> Pattern:
    pattern: Pattern | None = None
    for stage in stages:
        name = _chain(stage["group"]) if "group" in stage else stage["name"]
        pattern = Pattern.begin(name, skip) if pattern is None else getattr(pattern, stage["link"])(name)
        for step in stage["steps"]:
            pattern = _STEPS.get(step[0], _plain)(pattern, *step)
    assert pattern is not None
    return pattern


def _plain(pattern: Pattern, method: str, *arguments: Any) -> Pattern:
    return getattr(pattern, method)(*arguments)


def _with_condition(pattern: Pattern, method: str, condition: list[Any]) -> Pattern:
    return getattr(pattern, method)(condition_of(condition))


def _windowed(counts: int, method: str) -> Callable[..., Pattern]:
    def apply(pattern: Pattern, _: str, *arguments: int) -> Pattern:
        window = dict(zip(["window"], arguments[counts:], strict=False))
        return getattr(pattern, method)(*arguments[:counts], **window)

    return apply


_STEPS: dict[str, Callable[..., Pattern]] = {
    "where": _with_condition,
    "or_where": _with_condition,
    "until": _with_condition,
    "times": _windowed(1, "times"),
    "times_range": _windowed(2, "times"),
    "times_or_more": _windowed(1, "times_or_more"),
    "one_or_more": _windowed(0, "one_or_more"),
    "within_previous": lambda p, _, ms: p.within(ms, WithinType.PREVIOUS_AND_CURRENT),
}


def condition_of(spec: list[Any]) -> Callable[..., bool]:
    match spec:
        case ["kind", kind]:
            return lambda e: e[1] == kind
        case ["over", least]:
            return lambda e: e[2] > least
        case ["rising", stage]:
            return lambda e, ctx: (
                e[2] > max([x[2] for x in ctx.get_events_for_pattern(stage)][-1:], default=-1)
            )
        case ["sum_below", stage, most]:
            return lambda e, ctx: e[2] + sum(x[2] for x in ctx.get_events_for_pattern(stage)) < most
    raise AssertionError(spec)


# ---- by seed

_LINKS = ["next", "followed_by", "followed_by", "followed_by_any"]


def program(seed: int) -> Spec:
    """The program of a seed. It may be one that is refused."""
    rng = random.Random(seed)
    stages = _stages(rng, rng.randint(1, 4), prefix="", depth=0)
    window = _window(rng, stages)
    skip = _random_skip(rng, stages)
    return {
        "pattern": {"stages": stages, "skip": skip},
        "events": _events(rng, rng.randint(4, 11), bool(window)),
        "end": 10_000 if rng.random() < 0.7 else 60,
    }


def _stages(rng: random.Random, count: int, prefix: str, depth: int) -> list[Spec]:
    stages: list[Spec] = []
    for number in range(count):
        link = "begin" if number == 0 else rng.choice(_LINKS)
        if number and rng.random() < 0.18:
            link = rng.choice(["not_next", "not_followed_by"])
        if depth == 0 and not link.startswith("not") and rng.random() < 0.15:
            group = _stages(rng, rng.randint(1, 3), prefix=f"{prefix}{number}", depth=1)
            stages.append({"link": link, "group": group, "steps": _quantifier(rng, [], group=True)})
            continue
        name = f"{prefix}s{number}"
        names = [stage["name"] for stage in stages if "name" in stage]
        steps = _where(rng, [*names, name])
        if not link.startswith("not"):
            steps += _quantifier(rng, names, group=False)
        stages.append({"link": link, "name": name, "steps": steps})
    return stages


def _where(rng: random.Random, names: list[str]) -> list[list[Any]]:
    steps: list[list[Any]] = [["where", ["kind", rng.choice("aabbc")]]]
    chance = rng.random()
    if chance < 0.1:
        steps = []
    elif chance < 0.25:
        steps.append(["or_where", ["kind", rng.choice("abc")]])
    if rng.random() < 0.2:
        steps.append(["where", ["over", rng.randint(1, 4)]])
    if rng.random() < 0.25:
        stage = rng.choice(names)
        steps.append(["where", rng.choice([["rising", stage], ["sum_below", stage, rng.randint(5, 14)]])])
    return steps


def _quantifier(rng: random.Random, names: list[str], group: bool) -> list[list[Any]]:
    steps: list[list[Any]] = []
    kind = rng.choice(["one", "one", "times", "times_range", "times_or_more", "one_or_more", "one_or_more"])
    if kind == "times":
        steps.append(["times", rng.randint(1, 3)])
    elif kind == "times_range":
        least = rng.randint(0, 2)
        steps.append(["times_range", least, rng.randint(max(least, 1), 3)])
    elif kind == "times_or_more":
        steps.append(["times_or_more", rng.randint(1, 2)])
    elif kind == "one_or_more":
        steps.append(["one_or_more"])
    if kind in ("times", "times_range", "times_or_more") and rng.random() < 0.12:
        steps[0].append(rng.randint(3, 12))
    if kind != "one":
        steps += rng.choice([[], [], [["consecutive"]], [["allow_combinations"]]])
        if not group and rng.random() < 0.25:
            steps.append(["greedy"])
    if kind.endswith("or_more") and rng.random() < 0.25:
        steps.append(["until", rng.choice([["kind", rng.choice("abc")], ["over", rng.randint(2, 4)]])])
    if rng.random() < 0.2 and kind != "times_range":
        steps.append(["optional"])
    return steps


def _window(rng: random.Random, stages: list[Spec]) -> bool:
    last = stages[-1]
    chance = rng.random()
    if last["link"] == "not_followed_by" or chance < 0.35:
        last["steps"].append(["within", rng.randint(5, 20)])
        if chance < 0.05:
            last["steps"].append(["within_previous", rng.randint(2, 5)])
        return True
    if chance < 0.45:
        rng.choice(stages)["steps"].append(["within_previous", rng.randint(2, 8)])
        return True
    return False


def _random_skip(rng: random.Random, stages: list[Spec]) -> list[str]:
    names = [stage["name"] for stage in stages if "name" in stage and not stage["link"].startswith("not")]
    choices = [["no_skip"], ["no_skip"], ["skip_to_next"], ["skip_past_last_event"]]
    if names:
        choices += [["skip_to_first", rng.choice(names)], ["skip_to_last", rng.choice(names)]]
    return rng.choice(choices)


def _events(rng: random.Random, count: int, spread: bool) -> list[list[Any]]:
    now, events = rng.randint(1, 3), []
    for _ in range(count):
        events.append([now, rng.choice("aaabbbccd"), rng.randint(0, 5)])
        now += rng.choice([0, 1, 1, 2, 3, 5]) if spread else rng.choice([0, 1, 1])
    return events
