"""What a pattern operator is to do, as data, and the record of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.cep.nfa import Nfa
from firesteel.program.operator_kinds import KINDS, OperatorKind
from firesteel.program.operators import OperatorSpec
from firesteel.program.output_tag import OutputTag

__all__ = ["MatchPattern"]


@dataclass(frozen=True, slots=True)
class MatchPattern(OperatorSpec):
    """Finds the matches of a pattern in each key (Flink: ``CepOperator``).

    :param function: a PatternProcessFunction.
    :param comparator: ``(a, b)`` -> a number below, equal to or above 0, for events of the same time; None:
        they keep the order in which they came.
    """

    nfa: Nfa
    function: Any
    event_time: bool = True
    comparator: Any = None
    late_tag: OutputTag | None = None


KINDS.register(OperatorKind(spec=MatchPattern, operator="firesteel.cep.operator:CepOperator", keyed=True))
