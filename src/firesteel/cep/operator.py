"""The pattern operator: from batches of a stream to matches.

In event time, events wait until the watermark has come to them; then those of each key are matched in the
order of their timestamps. An event of a key without partial matches that cannot begin one touches no state:
which events can is found out for all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from itertools import compress
from typing import Any, Final, NamedTuple

from firesteel.cep.conditions import RichIterativeCondition
from firesteel.cep.functions import TimedOutPartialMatchHandler
from firesteel.cep.kept import StateNames
from firesteel.cep.match_column import MATCHES, MatchColumn, MatchPart
from firesteel.cep.matcher import Limit, Match, Matcher
from firesteel.cep.nfa import Nfa
from firesteel.cep.screening import Answers
from firesteel.cep.shared_buffer import KeyMatches
from firesteel.cep.spec import CepSpec, MatchPattern
from firesteel.cep.waiting import WAITING, Taken, WaitingColumn
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.common.options.firesteel import CEP_MAX_PARTIAL_MATCHES, CEP_TOO_MANY_PARTIAL_MATCHES
from firesteel.program.output_tag import OutputTag
from firesteel.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch
from firesteel.runtime.contexts import TaskRuntimeContext
from firesteel.runtime.functions import require_results
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.keyed import KeyedOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.state.backend import OperatorState
from firesteel.state.columns import CanonicalKey, in_order
from firesteel.state.deadlines import Deadlines
from firesteel.state.keys import raw_key

__all__ = ["CepOperator", "MatchContext", "PatternOperator", "PatternRun", "PatternRuntimeContext"]

LATE_RECORDS_DROPPED: Final = "numLateRecordsDropped"  # as in Flink
PARTIAL_MATCHES_DROPPED: Final = "numPartialMatchesDropped"
KEYS_WITH_DEADLINE: Final = "numKeysWithDeadline"
CACHE_HITS: Final = "partialMatchCacheHits"
CACHE_MISSES: Final = "partialMatchCacheMisses"

#: Timestamp and value of an event, whether it may begin a match, and what is known of its conditions.
_Event = tuple[int, Any, bool, Answers | None]


class PatternRun(NamedTuple):
    """A pattern that is looked for: what runs its automaton, and where its matches are."""

    nfa: Nfa
    matcher: Matcher
    matches: MatchPart
    id: str = ""
    version: int = 0

    @property
    def rich_conditions(self) -> list[RichIterativeCondition]:
        return [c for c in self.nfa.conditions if isinstance(c, RichIterativeCondition)]


class PatternRuntimeContext(TaskRuntimeContext):
    """What functions and conditions of patterns may know: no state, as in Flink (``CepRuntimeContext``)."""

    def _keyed(self) -> OperatorState:
        raise UnsupportedFeatureError(
            "State is not supported.",
            operator=self._program.name,
            detail="functions of patterns see matches of all keys and have no state of their own",
            hint="keep state in a KeyedProcessFunction after the pattern",
        )


class MatchContext:
    """Context of a PatternProcessFunction; ``run`` and ``stamp`` are set before each call."""

    run: PatternRun

    def __init__(self, operator: PatternOperator) -> None:
        self._operator = operator
        self.stamp = NO_TIMESTAMP

    def timestamp(self) -> int:
        return self.stamp

    def current_processing_time(self) -> int:
        return self._operator.context.clock.read()

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self._operator.emit_beside(output_tag, value, self.stamp)


class PatternOperator(KeyedOperator):
    """Time, keys and results; subclasses say which patterns are looked for: ``runs``."""

    runs: Sequence[PatternRun]

    def __init__(self, program: OperatorProgram, spec: CepSpec) -> None:
        super().__init__(program, spec.function)
        self._event_time = spec.event_time
        self._late_tag = spec.late_tag
        self._order = None if spec.comparator is None else cmp_to_key(spec.comparator)
        self._waits = spec.event_time or spec.comparator is not None
        self._on_match = spec.function.process_match
        handles = isinstance(spec.function, TimedOutPartialMatchHandler)
        self._on_timeout = spec.function.process_timed_out_match if handles else None
        self.match_context = self.make_match_context()
        self.runs = []

    def make_match_context(self) -> MatchContext:
        """What functions are given with a match."""
        return MatchContext(self)

    # ---- life

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        self.metrics = context.metric_group(self.program)
        super().open(context, state)
        self._late = self.metrics.counter(LATE_RECORDS_DROPPED)
        self._cut = self.metrics.counter(PARTIAL_MATCHES_DROPPED)

    def on_open(self) -> None:
        self._waiting: WaitingColumn = self.state.engine_state("_cep/waiting", WAITING, WaitingColumn)
        self._due: Deadlines | None = None

    def show_cache(self, column: MatchColumn) -> None:
        """Offer how often the partial matches of a key were in memory, and had to be read."""
        self.metrics.gauge(CACHE_HITS, lambda: column.hits)
        self.metrics.gauge(CACHE_MISSES, lambda: column.loads)

    def keep_deadlines(self, name: str) -> None:
        """Matches can time out: remember for each key when the next one does."""
        self._due = due = self.state.deadlines(name)
        self.metrics.gauge(KEYS_WITH_DEADLINE, lambda: len(due.due))

    def make_run(self, nfa: Nfa, matches: MatchPart, id: str = "", version: int = 0) -> PatternRun:
        clock, settings = self.context.clock, Configuration.from_dict(self.context.settings)
        limit = Limit(
            settings.get(CEP_MAX_PARTIAL_MATCHES),
            settings.get(CEP_TOO_MANY_PARTIAL_MATCHES) == "drop-oldest",
        )
        matcher = Matcher(
            nfa, handles_timeouts=self._on_timeout is not None, clock=lambda: clock.now_ms, limit=limit
        )
        return PatternRun(nfa, matcher, matches, id, version)

    def open_run(self, run: PatternRun) -> None:
        for condition in run.rich_conditions:
            condition.open(PatternRuntimeContext(self.context, self.program, None))

    def close_run(self, run: PatternRun) -> None:
        for condition in run.rich_conditions:
            condition.close()

    def call(self, hook: Any, *arguments: Any) -> None:
        if arguments:
            hook(PatternRuntimeContext(self.context, self.program, None))
        else:
            hook()

    def close(self) -> None:
        for run in self.runs:
            self.close_run(run)
        super().close()

    # ---- events

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        values, stamps = batch.values, batch.timestamps
        if stop - start != len(values):
            values, canon = values[start:stop], canon[start:stop]
            stamps = stamps and stamps[start:stop]
        if not self._event_time:
            stamps = [self.context.clock.now_ms] * len(values)
        elif stamps is None or NO_TIMESTAMP in stamps:
            raise self._without_timestamp()
        elif min(stamps) <= self.watermark:
            stamps, canon, values = self._without_late(stamps, canon, values)
        if self._waits:
            self._waiting.add(stamps, canon, values)
        else:
            self._run_at_once(stamps[0], canon, values)

    def _without_late(
        self, stamps: Sequence[int], keys: Sequence[Any], values: Sequence[Any]
    ) -> tuple[list[int], list[Any], list[Any]]:
        in_time: tuple[list[int], list[Any], list[Any]] = [], [], []
        tag = self._late_tag
        for stamp, key, value in zip(stamps, keys, values, strict=True):
            if stamp > self.watermark:
                for column, item in zip(in_time, (stamp, key, value), strict=True):
                    column.append(item)
            elif tag is not None:
                self.outputs.collect_side(tag, value, stamp)
            else:
                self._late.inc()
        return in_time

    def _without_timestamp(self) -> ProgramError:
        return ProgramError(
            "Elements that are matched in event time need to have timestamps.",
            operator=self.program.name,
            detail="a record of the stream has none",
            hint="call assign_timestamps_and_watermarks(...) with a timestamp assigner before CEP.pattern(), "
            "or in_processing_time() after it",
        )

    def _run_at_once(self, now: int, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Processing time: events in the order in which they came."""
        for run in self.runs:
            self.match_context.run = run
            begins = run.matcher.screening.beginning(values)
            for i, answers in self._of_interest(run, keys, values, begins):
                begin = begins is None or begins[i]
                self._match(run, keys[i], ((now, values[i], begin, answers),), now)

    def _of_interest(
        self,
        run: PatternRun,
        keys: Sequence[CanonicalKey],
        values: Sequence[Any],
        begins: list[bool] | None,
        due: Iterable[CanonicalKey] = (),
    ) -> Iterable[tuple[int, Answers | None]]:  # hot
        """The places of the events that may change something: their key has partial matches, or may have some
        with one of the events. With each, what is known of its conditions."""
        places: Sequence[int] = range(len(keys))
        if begins is not None:
            active = self._active(run, keys, begins, due)
            places = [i for i, key in enumerate(keys) if key in active] if active else ()
        return run.matcher.screening.changing(values, places, begins)

    def _active(
        self,
        run: PatternRun,
        keys: Sequence[CanonicalKey],
        begins: list[bool],
        due: Iterable[CanonicalKey],
    ) -> set[CanonicalKey]:  # hot
        """The keys that have partial matches, or may have some with one of the events."""
        known = set(keys)
        active = set(compress(keys, begins))
        active.update(due)
        if self._due is not None and run.nfa.window_ms is not None and not self.context.batch_mode:
            active.update(known & self._due.due.keys())  # each key with a partial match has a deadline
        else:
            get = run.matches.get
            active.update([key for key in known - active if get(key) is not None])
        return active

    # ---- time

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            if self._event_time:
                self._run_until(watermark, watermark)

    def _fire_processing_time(self) -> None:
        if not self._event_time and not self.context.batch_mode:
            now = self.context.clock.now_ms
            self._run_until(now - 1, now)  # what came in this millisecond may not be all of it

    def next_timer_ms(self) -> int | None:
        if self._event_time or self.ended:
            return None
        times = [None if self._due is None else self._due.next_ms()]
        if self._waits and (first := self._waiting.next_ms()) is not None:
            times.append(first + 1)
        return min((time for time in times if time is not None), default=None)

    def end_key(self) -> None:
        key, raw = self.state.key, self.state.raw_key
        self.watermark = MAX_WATERMARK
        self._run_until(MAX_WATERMARK, MAX_WATERMARK)
        self.watermark = MIN_WATERMARK
        self.state.key, self.state.raw_key = key, raw

    def _run_until(self, last_ms: int, now: int) -> None:
        """Match what waits up to *last_ms*, and time out what is over at *now*: key after key, by the first
        thing that happens to them, then by key."""
        due = [] if self._due is None else self._due.take(now)
        taken = self._waiting.take(last_ms)
        if taken.keys or due:
            for run in self.runs:
                self._run_taken(run, taken, due, now)

    def _run_taken(self, run: PatternRun, taken: Taken, due: list[CanonicalKey], now: int) -> None:
        self.match_context.run = run
        stamps, keys, values = taken
        begins = run.matcher.screening.beginning(values)
        events: dict[CanonicalKey, list[_Event]] = {key: [] for key in due}
        for i, answers in self._of_interest(run, keys, values, begins, due):
            event = stamps[i], values[i], begins is None or begins[i], answers
            found = events.get(keys[i])
            if found is None:
                events[keys[i]] = [event]
            else:
                found.append(event)
        first_ms: dict[CanonicalKey, int] = {}
        for key, found in events.items():
            self._sort(found)
            first_ms[key] = found[0][0] if found else now
        for key in sorted(in_order(events), key=first_ms.__getitem__):
            self._match(run, key, events[key], now)

    def _sort(self, events: list[_Event]) -> None:
        """Order the events of a key: by timestamp, then by the comparator, then as they came."""
        order = self._order
        if order is None:
            events.sort(key=_timestamp)
        else:
            events.sort(key=lambda event: (event[0], order(event[1])))

    # ---- matches

    def _match(self, run: PatternRun, key: CanonicalKey, events: Sequence[_Event], now: int) -> None:  # hot
        """Give a key its events, in order, and then let time go on to *now*."""
        part, matcher = run.matches, run.matcher
        matches = part.get(key)
        before = None if matches is None else matches.partial
        self.state.key, self.state.raw_key = key, raw_key(key)
        process, due_ms = matcher.process, matcher.due_ms
        due = None if matches is None else due_ms(matches)
        for stamp, value, begins, answers in events:
            if matches is None or not matches.partial:
                if not begins:
                    continue
                if matches is None:
                    matches = part.make(key)
            elif due is not None and due <= stamp:
                due = self._let_pass(matcher, matches, due, stamp)
            partial = matches.partial
            for match in process(matches, value, stamp, answers):
                self._emit(match, stamp)
            if matches.partial is not partial:
                due = due_ms(matches)
        if matches is None:
            return
        if due is not None and due <= now:
            due = self._let_pass(matcher, matches, due, now)
        if matches.partial is not before:
            part.changed_key(key)
            if matcher.dropped:
                self._cut.inc(matcher.dropped)
                matcher.dropped = 0
        if due is not None and self._due is not None and not self.context.batch_mode:
            # As in Flink: in processing time, once the millisecond is over.
            self._due.bring_forward(key, min(due if self._event_time else due + 1, MAX_WATERMARK))

    def _let_pass(self, matcher: Matcher, matches: KeyMatches, due: int, now: int) -> int | None:
        """Time goes on, from one instant at which something times out to the next: so a result has the same
        timestamp however far the watermark moves at once. Return the first instant after *now*."""
        next_due: int | None = due
        while next_due is not None and next_due <= now:
            found, timed_out = matcher.advance(matches, next_due)
            for match in found:
                self._emit(match, next_due)
            if self._on_timeout is not None:
                for match, stamp in timed_out:
                    self._emit_timeout(match, stamp)
            next_due = matcher.due_ms(matches)
        return next_due

    def _emit(self, match: Match, stamp: int) -> None:
        self.match_context.stamp = stamp
        results = self._on_match(match, self.match_context)
        if results is not None:
            self.collect(results, stamp if self._event_time else NO_TIMESTAMP)

    def _emit_timeout(self, match: Match, stamp: int) -> None:
        assert self._on_timeout is not None
        self.match_context.stamp = stamp
        results = self._on_timeout(match, self.match_context)
        require_results(results)
        for result in results or ():
            if not (type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag)):
                raise ProgramError(
                    "What comes of a partial match that timed out goes to a side output.",
                    operator=self.program.name,
                    detail=f"process_timed_out_match() gave {result!r:.200}",
                    hint="call ctx.output(tag, value), or yield tag, value",
                )
            self.emit_beside(result[0], result[1], stamp)

    def emit_beside(self, tag: OutputTag, value: Any, stamp: int) -> None:
        self.outputs.collect_side(tag, value, stamp if self._event_time else NO_TIMESTAMP)


class CepOperator(PatternOperator):
    """Looks for one pattern, which the program knows."""

    def __init__(self, program: OperatorProgram, spec: MatchPattern) -> None:
        super().__init__(program, spec)
        self._nfa = spec.nfa

    def on_open(self) -> None:
        super().on_open()
        column: MatchColumn = self.state.engine_state("_cep/matches", MATCHES, MatchColumn)
        if self._nfa.has_window:
            self.keep_deadlines("_cep/matches")
        self.show_cache(column)
        names = StateNames(state.name for state in self._nfa.states)
        run = self.make_run(self._nfa, column.whole(names))
        self.open_run(run)
        self.runs = [run]


def _timestamp(event: _Event) -> int:
    return event[0]
