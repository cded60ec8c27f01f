"""Patterns on streams (Flink: ``CEP``, ``PatternStream``)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from firesteel.cep.compiler import compiled
from firesteel.cep.functions import PatternProcessFunction, selecting
from firesteel.cep.pattern import Pattern
from firesteel.cep.pattern_book import PATTERNS
from firesteel.cep.pattern_json import ConditionFactory
from firesteel.cep.spec import CepSpec, MatchDynamicPatterns, MatchPattern
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream, KeyedStream
from firesteel.datastream.functions import NullByteKeySelector
from firesteel.datastream.output_tag import OutputTag
from firesteel.program.checks import WrongArgumentError, check_picklable, require_function

__all__ = ["CEP", "DynamicPatternStream", "PatternStream"]

#: Orders events of the same time: below 0, if the first one comes first.
Comparator = Callable[[Any, Any], int]


class CEP:
    """Where patterns meet streams."""

    @staticmethod
    def pattern(
        input_stream: DataStream, pattern: Pattern, comparator: Comparator | None = None
    ) -> PatternStream:
        """Look for a pattern: in each key of a keyed stream, else in the whole stream, by one subtask.

        :param comparator: orders events of the same time; without it they keep the order in which they came.
        :raises MalformedPatternError: the pattern cannot be matched as it is written.
        """
        if not isinstance(input_stream, DataStream):
            raise WrongArgumentError("CEP.pattern() takes a stream.", detail=f"got {input_stream!r}")
        if not isinstance(pattern, Pattern):
            raise WrongArgumentError(
                "CEP.pattern() takes a pattern.",
                detail=f"got {pattern!r}",
                hint="Pattern.begin(name).where(...)",
            )
        _check_comparator(comparator)
        nfa = compiled(pattern)
        for condition in nfa.conditions:
            check_picklable(condition, "CepOperator")
        check_picklable(comparator, "CepOperator")
        return PatternStream(input_stream, MatchPattern(nfa, comparator=comparator))

    @staticmethod
    def dynamic_patterns(
        input_stream: DataStream,
        pattern_stream: DataStream,
        *,
        conditions: Mapping[str, ConditionFactory] | None = None,
        comparator: Comparator | None = None,
    ) -> DynamicPatternStream:
        """Look for the patterns that *pattern_stream* brings, and for new ones while the job runs.

        A record of it is a pattern in its JSON form (``docs/cep.md``), as text, bytes or a dict: a new
        pattern, a new version of one, or its removal. It counts from the moment at which it comes, for all
        events that have not been matched by then. The watermarks of the stream do not matter.

        :param conditions: those that patterns may ask for by name: what makes one of the parameters.
        :param comparator: orders events of the same time; without it they keep the order in which they came.
        """
        for stream, what in ((input_stream, "events"), (pattern_stream, "patterns")):
            if not isinstance(stream, DataStream):
                raise WrongArgumentError(
                    f"CEP.dynamic_patterns() takes a stream of {what}.", detail=f"got {stream!r}"
                )
        _check_comparator(comparator)
        registered = dict(conditions or {})
        for name, factory in registered.items():
            if not isinstance(name, str) or not callable(factory):
                raise WrongArgumentError(
                    "Conditions are registered by name, with what makes them of parameters.",
                    detail=f"got {name!r}: {factory!r}",
                    hint='conditions={"above": lambda limit: lambda event: event.amount > limit}',
                )
        spec = MatchDynamicPatterns(conditions=registered, comparator=comparator)
        return DynamicPatternStream(input_stream, spec, pattern_stream)


def _check_comparator(comparator: Any) -> None:
    if comparator is not None and not callable(comparator):
        raise WrongArgumentError(
            "The comparator must be a callable of two events.", detail=f"got {comparator!r}"
        )


class PatternStream:
    """The matches of a pattern in a stream; ``process``, ``select`` or ``flat_select`` say what comes of
    them.

    Without a word about it, time is event time: events are matched in the order of their timestamps, as the
    watermark passes them, and what comes behind the watermark is late.
    """

    def __init__(self, input_stream: DataStream, spec: CepSpec) -> None:
        self._input = input_stream
        self._spec = spec

    def in_processing_time(self) -> Self:
        """Match events as they come; ``within`` measures processing time."""
        if self._spec.late_tag is not None:
            raise WrongArgumentError(
                "In processing time no event is late.", hint="leave out side_output_late_data()"
            )
        return self._with(event_time=False)

    def in_event_time(self) -> Self:
        """Match events in the order of their timestamps."""
        return self._with(event_time=True)

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> Self:
        """Emit late events to a side output; without it they are dropped and counted."""
        if not isinstance(late_data_output_tag, OutputTag):
            raise WrongArgumentError(
                "side_output_late_data() takes an OutputTag.", detail=f"got {late_data_output_tag!r}"
            )
        if not self._spec.event_time:
            raise WrongArgumentError(
                "In processing time no event is late.", hint="leave out side_output_late_data()"
            )
        return self._with(late_tag=late_data_output_tag)

    def process(
        self, pattern_process_function: PatternProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a function with each match; a TimedOutPartialMatchHandler also gets those that timed out."""
        require_function(
            pattern_process_function,
            PatternProcessFunction,
            self._name,
            "derive the class from PatternProcessFunction, or call select() with a callable",
        )
        return self._transformed(pattern_process_function, output_type)

    def select(
        self,
        pattern_select_function: Any,
        output_type: TypeInformation | None = None,
        *,
        timed_out_partial_matches_tag: OutputTag | None = None,
        pattern_timeout_function: Any = None,
    ) -> DataStream:
        """Make one result of each match.

        :param pattern_select_function: a PatternSelectFunction, or a callable of a match.
        :param pattern_timeout_function: a PatternTimeoutFunction, or a callable of a partial match and the
            time when it timed out; what it returns goes to *timed_out_partial_matches_tag*.
        """
        tag, on_timeout = timed_out_partial_matches_tag, pattern_timeout_function
        function = selecting(self._name, pattern_select_function, False, tag, on_timeout)
        return self._transformed(function, output_type)

    def flat_select(
        self,
        pattern_flat_select_function: Any,
        output_type: TypeInformation | None = None,
        *,
        timed_out_partial_matches_tag: OutputTag | None = None,
        pattern_flat_timeout_function: Any = None,
    ) -> DataStream:
        """Make any number of results of each match: what the function yields or returns as an iterable."""
        tag, on_timeout = timed_out_partial_matches_tag, pattern_flat_timeout_function
        function = selecting(self._name, pattern_flat_select_function, True, tag, on_timeout)
        return self._transformed(function, output_type)

    def _with(self, **changed: Any) -> Self:
        copy_ = copy.copy(self)
        copy_._spec = replace(self._spec, **changed)
        return copy_

    @property
    def _name(self) -> str:
        return "CepOperator" if isinstance(self._input, KeyedStream) else "GlobalCepOperator"

    def _transformed(self, function: Any, output_type: TypeInformation | None) -> DataStream:
        spec = replace(self._spec, function=function)
        if isinstance(self._input, KeyedStream):
            return self._add(self._input, output_type, spec)
        return self._add(self._input.key_by(NullByteKeySelector()), output_type, spec).force_non_parallel()

    def _add(self, keyed: KeyedStream, output_type: TypeInformation | None, spec: CepSpec) -> DataStream:
        return keyed.transform(self._name, output_type, spec)


class DynamicPatternStream(PatternStream):
    """The matches of patterns that come while the job runs. The context that ``process`` gives a function
    also has ``pattern_id()`` and ``pattern_version()``."""

    def __init__(
        self, input_stream: DataStream, spec: MatchDynamicPatterns, pattern_stream: DataStream
    ) -> None:
        super().__init__(input_stream, spec)
        self._patterns = pattern_stream

    def side_output_refused_patterns(self, refused_output_tag: OutputTag) -> Self:
        """Emit a RefusedPattern to a side output for each record of the pattern stream that could not be
        followed, with the reason; without it the job warns of them."""
        if not isinstance(refused_output_tag, OutputTag):
            raise WrongArgumentError(
                "side_output_refused_patterns() takes an OutputTag.", detail=f"got {refused_output_tag!r}"
            )
        return self._with(refused_tag=refused_output_tag)

    @property
    def _name(self) -> str:
        return f"Dynamic{super()._name}"

    def _add(self, keyed: KeyedStream, output_type: TypeInformation | None, spec: CepSpec) -> DataStream:
        # Through one subtask, so that all get the records in one order.
        patterns = self._patterns.map(_as_it_is).name("Patterns").force_non_parallel()
        return keyed.connect(patterns.broadcast(PATTERNS))._transform(self._name, spec, output_type)


def _as_it_is(record: Any) -> Any:
    return record
