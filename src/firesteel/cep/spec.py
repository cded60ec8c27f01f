"""What a pattern operator is to do, as data, and the record of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.cep.nfa import Nfa
from firesteel.program.operator_kinds import KINDS, OperatorKind
from firesteel.program.operators import OperatorSpec
from firesteel.program.output_tag import OutputTag

__all__ = ["CepSpec", "MatchDynamicPatterns", "MatchPattern"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CepSpec(OperatorSpec):
    """What all pattern operators have to know.

    :param function: a PatternProcessFunction.
    :param comparator: ``(a, b)`` -> a number below, equal to or above 0, for events of the same time; None:
        they keep the order in which they came.
    """

    function: Any = None
    event_time: bool = True
    comparator: Any = None
    late_tag: OutputTag | None = None


@dataclass(frozen=True, slots=True)
class MatchPattern(CepSpec):
    """Finds the matches of a pattern in each key (Flink: ``CepOperator``)."""

    nfa: Nfa


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchDynamicPatterns(CepSpec):
    """Finds the matches of the patterns that come on the second input.

    :param conditions: name -> what makes a condition of parameters, for patterns that ask for it.
    :param refused_tag: where records go that cannot be followed; None: they are warned of.
    """

    conditions: Mapping[str, Callable[..., Any]]
    refused_tag: OutputTag | None = None


KINDS.register(OperatorKind(spec=MatchPattern, operator="firesteel.cep.operator:CepOperator", keyed=True))
KINDS.register(
    OperatorKind(
        spec=MatchDynamicPatterns,
        operator="firesteel.cep.dynamic_operator:DynamicCepOperator",
        inputs=2,
        keyed=True,
        broadcast_input=1,
        operator_state=True,
    )
)
