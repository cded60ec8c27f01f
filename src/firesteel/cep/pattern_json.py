"""The JSON form of patterns: what a record of a stream of patterns says (``docs/cep.md``).

A record is read into the classes below, which say what may be there; the pattern is then made with the
methods of ``Pattern``, so that what they refuse is refused here with the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from firesteel.cep.conditions import And, Condition, Expression, Not, Or, to_condition
from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.expressions import IterativeExpressionCondition, expression_condition
from firesteel.cep.pattern import GroupPattern, Pattern, WithinType
from firesteel.cep.skip_strategy import AfterMatchSkipStrategy
from firesteel.common._config_kinds import read_duration_ms

__all__ = [
    "ConditionFactory",
    "PatternRecord",
    "RefusedPattern",
    "made_pattern",
    "read_record",
    "record_text",
]

#: Makes a condition of parameters: anything that ``Pattern.where`` takes.
ConditionFactory: TypeAlias = Callable[..., Any]

Length: TypeAlias = int | str


class ConditionForm(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A registered condition by its name, or conditions put together: exactly one of the four."""

    name: str | None = None
    parameters: dict[str, Any] = {}
    all: list[ConditionForm | str] | None = None
    any: list[ConditionForm | str] | None = None
    not_: ConditionForm | str | None = msgspec.field(name="not", default=None)


Where: TypeAlias = ConditionForm | str


class StageForm(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A stage, or with ``group`` a group of stages."""

    name: str | None = None
    group: list[StageForm] | None = None
    contiguity: Literal["next", "followed_by", "followed_by_any", "not_next", "not_followed_by"] | None = None
    where: Where | None = None
    times: int | tuple[int, int] | None = None
    times_or_more: int | None = None
    one_or_more: bool = False
    window: Length | None = None
    optional: bool = False
    greedy: bool = False
    consecutive: bool = False
    allow_combinations: bool = False
    until: Where | None = None
    within_previous: Length | None = None


class PatternRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A version of a pattern, or with ``remove`` its end.

    :ivar earlier: what becomes of the partial matches of the versions before: they ``end``, or ``go_on``.
    """

    id: Annotated[str, msgspec.Meta(min_length=1)]
    version: int | None = None
    pattern: Annotated[list[StageForm], msgspec.Meta(min_length=1)] | None = None
    within: Length | None = None
    skip: str | dict[str, str] = "no_skip"
    remove: bool = False
    earlier: Literal["end", "go_on"] = "end"


class RefusedPattern(NamedTuple):
    """A record of a pattern stream that could not be followed, as it came, and why."""

    record: Any
    reason: str


# ---- reading


def read_record(given: Any) -> PatternRecord:
    """Read a record: JSON as text or bytes, or a dict of the same form.

    :raises MalformedPatternError: it is not of that form.
    """
    try:
        if isinstance(given, str | bytes):
            record = msgspec.json.decode(given, type=PatternRecord)
        else:
            record = msgspec.convert(given, PatternRecord)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise MalformedPatternError(
            "The record is not a pattern in its JSON form.",
            detail=str(error),
            hint='{"id": ..., "version": ..., "pattern": [{"name": ..., "where": ...}, ...]}',
        ) from None
    _require_whole(record)
    return record


def _require_whole(record: PatternRecord) -> None:
    if record.remove:
        if record.pattern is not None or record.version is not None:
            raise MalformedPatternError(
                "A record that removes a pattern has its id, and nothing of a pattern.",
                detail=f"that of {record.id!r} has a version or a pattern",
            )
    elif record.version is None or record.pattern is None:
        raise MalformedPatternError(
            "A record has a version and a pattern, or removes one.",
            detail=f"that of {record.id!r} has no {'version' if record.version is None else 'pattern'}",
        )


def record_text(record: PatternRecord) -> str:
    """Return the record as JSON, the same for records that say the same.

    :raises MalformedPatternError: its parameters have no JSON form.
    """
    try:
        return msgspec.json.encode(record, order="deterministic").decode()
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise MalformedPatternError(
            "The parameters of a condition are JSON values.", detail=str(error)
        ) from None


# ---- making


def made_pattern(record: PatternRecord, factories: Mapping[str, ConditionFactory]) -> Pattern:
    """Return the pattern that a record is of.

    :param factories: the registered conditions.
    :raises FiresteelError: there is no such pattern; it says why.
    """
    assert record.pattern is not None
    maker = _Maker(factories)
    pattern = maker.pattern(record.pattern, _skip(record.skip))
    unknown = maker.asked_for - set(_stage_names(pattern))
    if unknown:
        raise MalformedPatternError(
            "An expression asks for the events of a stage that the pattern does not have.",
            detail=", ".join(sorted(map(repr, unknown))),
        )
    if record.within is not None:
        pattern.within(_length_ms(record.within, "within"))
    return pattern


def _stage_names(pattern: Pattern) -> Iterator[str]:
    for stage in pattern.stages():
        if isinstance(stage, GroupPattern):
            yield from _stage_names(stage.group)
        else:
            yield stage.name


_SKIPS: Final[dict[str, Callable[[], AfterMatchSkipStrategy]]] = {
    "no_skip": AfterMatchSkipStrategy.no_skip,
    "skip_to_next": AfterMatchSkipStrategy.skip_to_next,
    "skip_past_last_event": AfterMatchSkipStrategy.skip_past_last_event,
}
_SKIPS_TO: Final[dict[str, Callable[[str], AfterMatchSkipStrategy]]] = {
    "skip_to_first": AfterMatchSkipStrategy.skip_to_first,
    "skip_to_last": AfterMatchSkipStrategy.skip_to_last,
}


def _skip(form: str | dict[str, str]) -> AfterMatchSkipStrategy:
    if isinstance(form, str) and form in _SKIPS:
        return _SKIPS[form]()
    if isinstance(form, dict) and len(form) == 1:
        ((name, stage),) = form.items()
        if name in _SKIPS_TO:
            return _SKIPS_TO[name](stage)
    raise MalformedPatternError(
        "There is no such skip strategy.",
        detail=f"got {form!r:.200}",
        hint=f'{", ".join(_SKIPS)}, or one of {", ".join(_SKIPS_TO)} as {{"skip_to_last": "stage"}}',
    )


def _length_ms(length: Length, what: str) -> int:
    try:
        return read_duration_ms(length)
    except ValueError as error:
        raise MalformedPatternError(f"{what} is a length of time.", detail=f"{length!r}: {error}") from None


class _Maker:
    """
    :ivar asked_for: the stages whose events expressions ask for.
    """

    def __init__(self, factories: Mapping[str, ConditionFactory]) -> None:
        self._factories = factories
        self.asked_for: set[str] = set()

    def pattern(self, stages: Sequence[StageForm], skip: AfterMatchSkipStrategy | None = None) -> Pattern:
        if not stages:
            raise MalformedPatternError("A group has at least one stage.")
        first, *rest = stages
        if first.contiguity is not None:
            raise MalformedPatternError(
                "The first stage follows none.", detail=f"its contiguity is {first.contiguity!r}"
            )
        pattern = Pattern.begin(self._what(first), skip)
        self._fill(pattern, first)
        for form in rest:
            if form.contiguity is None:
                raise MalformedPatternError(
                    "A stage after the first one has a contiguity.",
                    detail=f"{form.name or 'a group'!r} has none",
                    hint="next, followed_by, followed_by_any, not_next or not_followed_by",
                )
            pattern = getattr(pattern, form.contiguity)(self._what(form))
            self._fill(pattern, form)
        return pattern

    def _what(self, form: StageForm) -> str | Pattern:
        if form.name is not None and form.group is None:
            return form.name
        if form.group is not None and form.name is None:
            return self.pattern(form.group)
        raise MalformedPatternError("A stage has a name or is a group.", detail=f"got {form!r:.200}")

    def _fill(self, stage: Pattern, form: StageForm) -> None:
        if form.where is not None:
            stage.where(_any_event)  # refuses what has no conditions of its own
            stage.condition = self._expression(form.where)
        self._quantify(stage, form)
        for trait in ("optional", "greedy", "consecutive", "allow_combinations"):
            if getattr(form, trait):
                getattr(stage, trait)()
        if form.until is not None:
            stage.until(_any_event)  # refuses where there is no loop
            stage.until_condition = self._expression(form.until)
        if form.within_previous is not None:
            length_ms = _length_ms(form.within_previous, "within_previous")
            stage.within(length_ms, WithinType.PREVIOUS_AND_CURRENT)

    @staticmethod
    def _quantify(stage: Pattern, form: StageForm) -> None:
        given = [form.times is not None, form.times_or_more is not None, form.one_or_more]
        if sum(given) > 1:
            raise MalformedPatternError(
                "A stage has one of times, times_or_more and one_or_more.",
                detail=f"{stage.name!r} has several",
            )
        window = None if form.window is None else _length_ms(form.window, "window")
        if form.times is not None:
            least, most = form.times if isinstance(form.times, tuple) else (form.times, None)
            stage.times(least, most, window=window)
        elif form.times_or_more is not None or form.one_or_more:
            stage.times_or_more(form.times_or_more or 1, window=window)
        elif window is not None:
            raise MalformedPatternError(
                "A window is between the events of a repeated stage.",
                detail=f"{stage.name!r} is not repeated",
            )

    # ---- conditions

    def _expression(self, form: Where) -> Expression:
        if isinstance(form, str):
            condition = expression_condition(form)
            if isinstance(condition, IterativeExpressionCondition):
                self.asked_for |= condition.stages
            return condition
        given = [part for part in (form.name, form.all, form.any, form.not_) if part is not None]
        if len(given) != 1 or (form.parameters and form.name is None):
            raise MalformedPatternError(
                "A condition is a text, or has one of name, all, any and not; parameters belong to a name.",
                detail=f"got {form!r:.200}",
            )
        if form.name is not None:
            return self._registered(form.name, form.parameters)
        if form.not_ is not None:
            return Not(self._expression(form.not_))
        parts = form.all if form.all is not None else form.any
        join: type[And] | type[Or] = And if form.all is not None else Or
        if not parts:
            raise MalformedPatternError("all and any have at least one condition.")
        joined = self._expression(parts[0])
        for part in parts[1:]:
            joined = join(joined, self._expression(part))
        return joined

    def _registered(self, name: str, parameters: dict[str, Any]) -> Condition:
        factory = self._factories.get(name)
        if factory is None:
            raise MalformedPatternError(
                f"There is no condition {name!r}.",
                detail=f"registered are {', '.join(map(repr, sorted(self._factories))) or 'none'}",
            )
        try:
            made = factory(**parameters)
        except BaseException as error:  # whatever users' code raises is its failure
            raise MalformedPatternError(
                f"The condition {name!r} does not take these parameters.",
                detail=f"{type(error).__name__}: {error}",
            ) from error
        return to_condition(made, f"the condition {name!r}")


def _any_event(event: Any) -> bool:
    return True
