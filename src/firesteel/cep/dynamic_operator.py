"""The operator of dynamic patterns: events on one input, patterns on the other one, which is broadcast.

A record of the pattern stream changes the book of patterns (``pattern_book``), and the automata that run are
made from the book: when a record changes it, and at the beginning of each epoch, because another process may
have run the epochs before. A record that cannot be followed leaves everything as it is. Time is that of the
events: the watermarks of the pattern stream count for nothing, only its end does.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from firesteel.cep.compiler import compiled
from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.kept import StateNames
from firesteel.cep.match_column import TAGGED_MATCHES, MatchColumn, tag_of
from firesteel.cep.operator import MatchContext, PatternOperator, PatternRun
from firesteel.cep.pattern_book import PATTERNS, PatternBook, Version
from firesteel.cep.pattern_json import PatternRecord, RefusedPattern, made_pattern, read_record
from firesteel.cep.spec import MatchDynamicPatterns
from firesteel.common.errors import FiresteelError, StateError
from firesteel.runtime.batch import END, IDLE, MAX_WATERMARK, NO_TIMESTAMP, Batch, Mark
from firesteel.runtime.operators.broadcast import BROADCAST_INPUT
from firesteel.runtime.operators.two_input import KeyedTwoInputOperator
from firesteel.runtime.program import OperatorProgram

__all__ = ["DynamicCepOperator"]

PATTERNS_REFUSED: Final = "numPatternsRefused"
PATTERNS_IN_FORCE: Final = "numPatterns"


class DynamicMatchContext(MatchContext):
    """The context of a match, which also knows the pattern."""

    def pattern_id(self) -> str:
        """Return the id of the pattern that the match is of."""
        return self.run.id

    def pattern_version(self) -> int:
        """Return the version of the pattern that the match is of."""
        return self.run.version


class _Running(NamedTuple):
    version: Version
    run: PatternRun

    def is_of(self, id: str, version: Version) -> bool:
        """Whether it can go on as this version: an epoch that was given up may have made another one."""
        mine = self.version
        return self.run.id == id and mine.record == version.record and (mine.begins or not version.begins)


class DynamicCepOperator(PatternOperator, KeyedTwoInputOperator):
    def __init__(self, program: OperatorProgram, spec: MatchDynamicPatterns) -> None:
        super().__init__(program, spec)
        self._conditions = spec.conditions
        self._refused_tag = spec.refused_tag
        self._running: dict[int, _Running] = {}
        self._synchronised: dict[str, str] = {}  # the content of the book that they are made from
        self._valve.feed(BROADCAST_INPUT, IDLE)

    def make_match_context(self) -> DynamicMatchContext:
        return DynamicMatchContext(self)

    # ---- life

    def on_open(self) -> None:
        super().on_open()
        self._book = PatternBook(self.state.broadcast_state(PATTERNS))
        self._column: MatchColumn = self.state.engine_state(
            "_cep/pattern-matches", TAGGED_MATCHES, MatchColumn
        )
        self.keep_deadlines("_cep/pattern-matches")
        self.show_cache(self._column)
        self._refusals = self.metrics.counter(PATTERNS_REFUSED)
        running = self._running
        self.metrics.gauge(PATTERNS_IN_FORCE, lambda: sum(each.version.begins for each in running.values()))

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._synchronise()

    def restore(self, carry: Any) -> None:
        super().restore(carry)
        if carry is None:
            self._valve.feed(BROADCAST_INPUT, IDLE)

    def on_mark(self, mark: Mark, input_index: int) -> None:
        if mark == END:
            if input_index != BROADCAST_INPUT:
                self.advance(MAX_WATERMARK)  # no event comes any more, whatever patterns may
        elif input_index == BROADCAST_INPUT:
            return
        super().on_mark(mark, input_index)

    # ---- patterns

    def run(self, batch: Batch, canon: list[Any], start: int, stop: int, input_index: int) -> None:
        if input_index != BROADCAST_INPUT:
            super().run(batch, canon, start, stop, input_index)
            return
        for given in batch.values[start:stop]:
            try:
                self._follow(read_record(given))
            except FiresteelError as error:
                self._refuse(given, error)

    def _follow(self, record: PatternRecord) -> None:
        self._book.apply(record, self._start)
        self._synchronise()

    def _refuse(self, given: Any, error: FiresteelError) -> None:
        """All subtasks refuse the same records; one of them says so."""
        if self.context.subtask == 0:
            self._refusals.inc()
            if self._refused_tag is not None:
                self.outputs.collect_side(self._refused_tag, RefusedPattern(given, str(error)), NO_TIMESTAMP)
            else:
                self.context.warnings.append(f"{self.program.name} has refused a pattern: {error}")

    def _start(self, id: str, version: Version) -> None:
        pattern = made_pattern(read_record(version.record), self._conditions)
        nfa = compiled(pattern)
        names = StateNames(state.name for state in nfa.states)
        part = self._column.part(tag_of(version.number), names)
        run = self.make_run(nfa, part, id, version.version)
        try:
            self.open_run(run)
        except BaseException as error:  # whatever users' code raises is its failure
            self._column.end(part)
            raise MalformedPatternError(
                f"A condition of the pattern {id!r} cannot be opened.",
                detail=f"{type(error).__name__}: {error}",
            ) from error
        self._running[version.number] = _Running(version, run)

    def _synchronise(self) -> None:
        """Run what the book says."""
        content = self._book.content()
        if content == self._synchronised:
            return
        wanted = {version.number: (id, version) for id, version in self._book.versions()}
        for number, running in list(self._running.items()):
            if number not in wanted or not running.is_of(*wanted[number]):
                del self._running[number]
                self._column.end(running.run.matches)
                self.close_run(running.run)
        for number, (id, version) in wanted.items():
            if number not in self._running:
                self._start_again(id, version)
            self._running[number] = running = self._running[number]._replace(version=version)
            if not version.begins:
                running.run.matcher.begin_no_more()
        self.runs = [self._running[number].run for number in wanted]
        self._synchronised = content

    def _start_again(self, id: str, version: Version) -> None:
        try:
            self._start(id, version)
        except FiresteelError as error:
            raise StateError(
                f"Version {version.version} of the pattern {id!r} cannot be made again of the state.",
                operator=self.program.name,
                detail=str(error),
                hint="register the conditions that it had when it came",
            ) from error
