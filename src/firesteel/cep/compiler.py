"""From a pattern to its automaton (Flink: ``NFACompiler``).

Stages are compiled from the last one to the first, each in front of what follows it: its *sink*. A negative
stage is no state of its own in the middle of a pattern; it becomes an edge to a stop state, at every state in
which its event would end the match.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from firesteel.cep.checks import check_names, check_skip
from firesteel.cep.conditions import Expression, Not
from firesteel.cep.draft import (
    DraftState,
    both,
    finished,
    require_no_more,
    require_progress,
    until,
    until_if_any,
)
from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.nfa import Action, Nfa, StateKind
from firesteel.cep.pattern import RESERVED, GroupPattern, Pattern, WithinType
from firesteel.cep.quantifier import ConsumingStrategy

__all__ = ["compiled"]

_END: Final = "$endState$"
_STRICT, _NEXT, _ANY = (
    ConsumingStrategy.STRICT,
    ConsumingStrategy.SKIP_TILL_NEXT,
    ConsumingStrategy.SKIP_TILL_ANY,
)


def compiled(pattern: Pattern) -> Nfa:
    """Return the automaton of *pattern*.

    :raises MalformedPatternError: nothing can match it as it is written.
    """
    check_names(pattern, _END)
    check_skip(pattern)
    return _Compiler(pattern).compile()


class _Compiler:
    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._stage = pattern  # the one that is being compiled
        self._following: Pattern | None = None
        self._group: GroupPattern | None = None  # the innermost one that it is in
        self._first_round: dict[int, bool] = {}  # by group: whether the states are of its first repetition
        self._states: list[DraftState] = []
        self._names: dict[str, int] = {}  # with the number that the next state of the name gets
        self._stops: dict[str, DraftState] = {}
        self._before_greed: dict[str, DraftState] = {}  # sinks of greedy stages as they were
        self._window_ms: int | None = None

    def compile(self) -> Nfa:
        last = self._pattern
        sink = self._new(_END, StateKind.FINAL)
        self._window_ms = last.windows_ms.get(WithinType.FIRST_AND_LAST)
        start = self._compile_stage(self._compile_up_to_first(sink))
        start.kind = StateKind.START
        self._check_windows(last)
        require_progress(self._states)
        return finished(self._states, start, self._window_ms, last.after_match_skip_strategy)

    def _check_windows(self, last: Pattern) -> None:
        longest = max((s.window_ms for s in self._states if s.window_ms is not None), default=0)
        if self._window_ms is not None and longest > self._window_ms:
            raise MalformedPatternError(
                "The window length between the previous and current event cannot be larger than the window "
                "length between the first and last event for a Pattern.",
                detail=f"{longest} ms is more than {self._window_ms} ms",
            )
        if last.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW and not self._times_out(last):
            raise MalformedPatternError(
                "NotFollowedBy is not supported without windowTime as a last part of a Pattern!",
                detail=f"{last.name!r} is the last stage",
                hint="call within(...): the match is complete when that time is over",
            )

    def _times_out(self, stage: Pattern) -> bool:
        """Whether a match that waits in a stage ends by itself."""
        windows = [each.windows_ms.get(WithinType.FIRST_AND_LAST) for each in self._pattern.stages()]
        return any(windows) or WithinType.PREVIOUS_AND_CURRENT in stage.windows_ms

    # ---- stages

    def _compile_up_to_first(self, sink: DraftState) -> DraftState:
        """Compile the current stage and those before it, but not the first one, which is current then."""
        while self._stage.previous is not None:
            match self._stage.quantifier.strategy:
                case ConsumingStrategy.NOT_FOLLOW:
                    if sink.kind is StateKind.FINAL and self._times_out(self._stage):
                        sink = self._compile_last_not_follow()
                case ConsumingStrategy.NOT_NEXT:
                    sink = self._compile_not_next(sink)
                case _:
                    sink = self._compile_stage(sink)
            self._following = self._stage
            self._stage = self._stage.previous
            window_ms = self._stage.windows_ms.get(WithinType.FIRST_AND_LAST)
            if window_ms is not None:  # the shortest one is that of the pattern
                self._window_ms = window_ms if self._window_ms is None else min(window_ms, self._window_ms)
        return sink

    def _compile_last_not_follow(self) -> DraftState:
        """A match that comes here is complete when its time ends without the event."""
        state = self._new_of_stage(StateKind.PENDING)
        unwanted = self._take_condition(self._stage)
        state.add(Action.PROCEED, self._stop(unwanted, self._stage.name), unwanted)
        state.add(Action.IGNORE, state, Not(unwanted))
        self._add_stops(state)
        return state

    def _compile_not_next(self, sink: DraftState) -> DraftState:
        state = self._new_of_stage(StateKind.NORMAL)
        unwanted = self._take_condition(self._stage)
        stop = self._stop(unwanted, self._stage.name)
        # To the final state nobody proceeds here: the match is complete after one more event.
        onward = Action.IGNORE if sink.kind is StateKind.FINAL else Action.PROCEED
        state.add(onward, sink, Not(unwanted))
        state.add(Action.PROCEED, stop, unwanted)
        return state

    def _compile_stage(self, sink: DraftState) -> DraftState:
        quantifier, times = self._stage.quantifier, self._stage.times_range
        if times is None:
            stage = self._stage
            state = self._single(
                sink,
                sink,
                self._take_condition(stage),
                self._ignore_condition(stage),
                stage.quantifier.is_optional,
            )
        elif quantifier.is_looping:
            self._set_first_round(False)
            # A loop that has begun is past the negative stages before an optional one.
            loop = self._loop(self._without_passed_nots(sink))
            self._set_first_round(True)
            state = self._repeated(loop, sink)
        else:
            state = self._repeated(sink, sink)
        self._add_stops(state)
        return state

    def _repeated(self, sink: DraftState, beyond: DraftState) -> DraftState:
        """The states of the counted repetitions; from those that are not needed a match may go on
        *beyond*."""
        stage, times = self._stage, self._stage.times_range
        assert times is not None
        self._set_first_round(False)
        end = stage.until_condition
        inner_ignore = until_if_any(self._inner_ignore_condition(stage), end)
        take = until(self._take_condition(stage), end)
        if stage.quantifier.is_greedy and times.least != times.most:
            if end is not None:
                self._before_greed[sink.name] = self._copy(sink)
            require_no_more(sink, take)
        state = sink
        for _ in range(times.least, times.most):
            state = self._single(state, beyond, take, inner_ignore, True)
            self._add_stop_of_following(state)
        for _ in range(times.least - 1):
            state = self._single(state, None, take, inner_ignore, False)
            self._add_stop_of_following(state)
        self._set_first_round(True)
        return self._single(state, beyond, take, self._ignore_condition(stage), stage.quantifier.is_optional)

    def _single(
        self,
        sink: DraftState,
        beyond: DraftState | None,
        take: Expression,
        ignore: Expression | None,
        is_optional: bool,
    ) -> DraftState:
        """The state that waits for one event of the stage, or one round of a group."""
        stage = self._stage
        if isinstance(stage, GroupPattern):
            return self._round(stage, sink, beyond if is_optional else None)
        state = self._new_of_stage(StateKind.NORMAL)
        sink = self._without_passed_nots(sink)
        state.add(Action.TAKE, sink, take)
        if is_optional:
            assert beyond is not None
            self._add_way_beyond(state, beyond)
        if ignore is None:
            return state
        waiting = state
        if is_optional or self._is_head_of_optional_group(stage):
            # Who has ignored an event has decided to wait, and does not go beyond any more.
            waiting = self._new(stage.name, StateKind.NORMAL)
            waiting.add(Action.TAKE, sink, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            self._add_stops(waiting)
        state.add(Action.IGNORE, waiting, ignore)
        return state

    def _add_way_beyond(self, state: DraftState, beyond: DraftState) -> None:
        stage, always = self._stage, self._always()
        end = stage.until_condition
        if stage.quantifier.is_greedy and end is not None:
            state.add(Action.PROCEED, self._before_greed.get(beyond.name, beyond), both(always, end))
            always = both(always, Not(end))
        state.add(Action.PROCEED, beyond, always)

    def _loop(self, sink: DraftState) -> DraftState:
        """The state that takes any number of events of the stage, and leaves for *sink* at any time."""
        stage = self._stage
        if isinstance(stage, GroupPattern):
            return self._loop_of_group(stage, sink)
        end = stage.until_condition
        ignore = until_if_any(self._inner_ignore_condition(stage), end)
        take = until(self._take_condition(stage), end)
        loop = self._new_of_stage(StateKind.NORMAL)
        always = self._always()
        if stage.quantifier.is_greedy:
            if end is not None:
                as_it_was = self._before_greed[sink.name] = self._copy(sink)
                loop.add(Action.PROCEED, as_it_was, both(always, end))
                always = both(always, Not(end))
            loop.add(Action.PROCEED, sink, always)
            require_no_more(sink, self._take_condition(stage))
        else:
            loop.add(Action.PROCEED, sink, always)
        loop.add(Action.TAKE, loop, take)
        self._add_stop_of_following(loop)
        if ignore is not None:
            waiting = self._new(stage.name, StateKind.NORMAL)
            waiting.add(Action.TAKE, loop, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            loop.add(Action.IGNORE, waiting, ignore)
            self._add_stop_of_following(waiting)
        return loop

    # ---- groups

    def _round(self, group: GroupPattern, sink: DraftState, beyond: DraftState | None) -> DraftState:
        always = self._always()
        with self._inside(group):
            first = self._compile_stage(self._compile_up_to_first(sink))
            if beyond is not None:
                first.add(Action.PROCEED, beyond, always)
        return first

    def _loop_of_group(self, group: GroupPattern, sink: DraftState) -> DraftState:
        always = self._always()
        again = self._new_of_stage(StateKind.NORMAL)
        with self._inside(group):
            first = self._compile_stage(self._compile_up_to_first(again))
            first.add(Action.PROCEED, sink, always)
            again.add(Action.PROCEED, first, always)
        return first

    @contextmanager
    def _inside(self, group: GroupPattern) -> Iterator[None]:
        around = self._stage, self._following, self._group
        self._group, self._stage = group, group.group
        try:
            yield
        finally:
            self._stage, self._following, self._group = around

    def _set_first_round(self, is_first: bool) -> None:
        if isinstance(self._stage, GroupPattern):
            self._first_round[id(self._stage)] = is_first

    def _is_first_round(self) -> bool:
        return self._first_round.get(id(self._group), True)

    def _is_head_of_group(self, stage: Pattern) -> bool:
        return self._group is not None and stage.previous is None

    def _is_head_of_optional_group(self, stage: Pattern) -> bool:
        group = self._group
        return (
            group is not None
            and self._is_head_of_group(stage)
            and self._is_first_round()
            and group.quantifier.is_optional
        )

    # ---- negative stages

    def _nots_before(self) -> list[tuple[Expression, str]]:
        """The negative stages that hold while the current stage waits: directly before it, or with nothing
        but optional stages in between."""
        found = []
        stage = self._stage.previous
        while stage is not None:
            is_not = stage.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW
            if is_not:
                found.append((self._take_condition(stage), stage.name))
            elif not stage.quantifier.is_optional:
                break
            stage = stage.previous
        return found

    def _stop(self, unwanted: Expression, name: str) -> DraftState:
        stop = self._stops.get(name)
        if stop is None:
            stop = self._stops[name] = self._new(name, StateKind.STOP)
            stop.add(Action.TAKE, stop, unwanted)
        return stop

    def _add_stops(self, state: DraftState) -> None:
        for unwanted, name in self._nots_before():
            state.add(Action.PROCEED, self._stop(unwanted, name), unwanted)

    def _add_stop_of_following(self, state: DraftState) -> None:
        following = self._following
        if following is not None and following.quantifier.strategy is ConsumingStrategy.NOT_FOLLOW:
            unwanted = self._take_condition(following)
            state.add(Action.PROCEED, self._stop(unwanted, following.name), unwanted)

    def _without_passed_nots(self, sink: DraftState) -> DraftState:
        """*sink* for a match that has an event of the current, optional stage: the negative stages before it
        do not hold any more. Where nothing differs it is *sink* itself."""
        passed = self._nots_before()
        if not passed or not self._stage.quantifier.is_optional:
            return sink
        names = {name for _, name in passed}
        copy = self._new(sink.name, sink.kind)
        for edge in sink.edges:
            if edge.action is not Action.PROCEED:
                copy.add(edge.action, copy if edge.target is sink else edge.target, edge.condition)
            elif edge.target.kind is not StateKind.STOP:
                copy.add(edge.action, self._without_passed_nots(edge.target), edge.condition)
            elif edge.target.name not in names:
                copy.add(edge.action, edge.target, edge.condition)
        return copy

    # ---- conditions

    @property
    def _group_until(self) -> Expression | None:
        return None if self._group is None else self._group.until_condition

    def _always(self) -> Expression:
        return until(True, self._group_until)

    def _take_condition(self, stage: Pattern) -> Expression:
        return until(stage.condition, self._group_until)

    def _ignore_condition(self, stage: Pattern) -> Expression | None:
        """Which events may lie before the first one of a stage; None: none."""
        strategy = stage.quantifier.strategy
        if self._is_head_of_group(stage):
            assert self._group is not None
            around = self._group.quantifier
            strategy = around.strategy if self._is_first_round() else around.inner
        return self._ignored_by(stage, strategy)

    def _inner_ignore_condition(self, stage: Pattern) -> Expression | None:
        """Which events may lie between those of a stage; None: none."""
        inner = stage.quantifier.inner
        if self._is_head_of_group(stage):
            assert self._group is not None
            inner = self._group.quantifier.inner
        return self._ignored_by(stage, inner)

    def _ignored_by(self, stage: Pattern, strategy: ConsumingStrategy) -> Expression | None:
        ignored: Expression | None = None
        if strategy is _NEXT:
            ignored = Not(stage.condition)
        elif strategy is _ANY:
            ignored = True
        return until_if_any(ignored, self._group_until)

    # ---- states

    def _new(self, name: str, kind: StateKind) -> DraftState:
        unique, number = name, self._names.get(name, 0)
        while unique in self._names:
            unique, number = f"{name}{RESERVED}{number}", number + 1
        self._names[name] = number
        self._names.setdefault(unique, 0)
        state = DraftState(unique, name.partition(RESERVED)[0], kind)
        self._states.append(state)
        return state

    def _new_of_stage(self, kind: StateKind) -> DraftState:
        """A new state that waits for an event of the current stage, with the stage's window."""
        stage, times = self._stage, self._stage.times_range
        state = self._new(stage.name, kind)
        if times is None:
            state.window_ms = stage.windows_ms.get(WithinType.PREVIOUS_AND_CURRENT)
        elif RESERVED in state.name:
            state.window_ms = times.window_ms
        return state

    def _copy(self, state: DraftState) -> DraftState:
        copy = self._new(state.stage, state.kind)
        for edge in state.edges:
            copy.add(edge.action, copy if edge.target is state else edge.target, edge.condition)
        return copy
