"""Patterns on streams (Flink: ``CEP``, ``PatternStream``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from firesteel.cep.compiler import compiled
from firesteel.cep.functions import PatternProcessFunction, selecting
from firesteel.cep.pattern import Pattern
from firesteel.cep.spec import MatchPattern
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.data_stream import DataStream, KeyedStream
from firesteel.datastream.functions import NullByteKeySelector
from firesteel.datastream.output_tag import OutputTag
from firesteel.program.checks import WrongArgumentError, check_picklable, require_function

__all__ = ["CEP", "PatternStream"]

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
        if comparator is not None and not callable(comparator):
            raise WrongArgumentError(
                "The comparator must be a callable of two events.", detail=f"got {comparator!r}"
            )
        nfa = compiled(pattern)
        for condition in nfa.conditions:
            check_picklable(condition, "CepOperator")
        check_picklable(comparator, "CepOperator")
        return PatternStream(input_stream, MatchPattern(nfa, None, comparator=comparator))


class PatternStream:
    """The matches of a pattern in a stream; ``process``, ``select`` or ``flat_select`` say what comes of
    them.

    Without a word about it, time is event time: events are matched in the order of their timestamps, as the
    watermark passes them, and what comes behind the watermark is late.
    """

    def __init__(self, input_stream: DataStream, spec: MatchPattern) -> None:
        self._input = input_stream
        self._spec = spec

    def in_processing_time(self) -> PatternStream:
        """Match events as they come; ``within`` measures processing time."""
        if self._spec.late_tag is not None:
            raise WrongArgumentError(
                "In processing time no event is late.", hint="leave out side_output_late_data()"
            )
        return PatternStream(self._input, replace(self._spec, event_time=False))

    def in_event_time(self) -> PatternStream:
        """Match events in the order of their timestamps."""
        return PatternStream(self._input, replace(self._spec, event_time=True))

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Emit late events to a side output; without it they are dropped and counted."""
        if not isinstance(late_data_output_tag, OutputTag):
            raise WrongArgumentError(
                "side_output_late_data() takes an OutputTag.", detail=f"got {late_data_output_tag!r}"
            )
        if not self._spec.event_time:
            raise WrongArgumentError(
                "In processing time no event is late.", hint="leave out side_output_late_data()"
            )
        return PatternStream(self._input, replace(self._spec, late_tag=late_data_output_tag))

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

    @property
    def _name(self) -> str:
        return "CepOperator" if isinstance(self._input, KeyedStream) else "GlobalCepOperator"

    def _transformed(self, function: Any, output_type: TypeInformation | None) -> DataStream:
        spec = replace(self._spec, function=function)
        if isinstance(self._input, KeyedStream):
            return self._input.transform(self._name, output_type, spec)
        keyed = self._input.key_by(NullByteKeySelector())
        return keyed.transform(self._name, output_type, spec).force_non_parallel()
