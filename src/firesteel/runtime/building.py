"""From the program of an operator to the operator that runs it."""

from __future__ import annotations

from firesteel.common.errors import ProgramError
from firesteel.program.operator_kinds import kind_of
from firesteel.program.sinks import Sink
from firesteel.program.sources import SourceReader
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.operators.sink import SinkOperator
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.program import OperatorProgram


def build_operator(program: OperatorProgram) -> BaseOperator:
    """A new operator, not open yet.

    :raises UnknownKindError: nothing that is imported knows its kind.
    :raises ProgramError: what the kind says runs it cannot be loaded, or is not an operator.
    """
    spec = program.spec
    if isinstance(spec, SourceReader):
        return SourceOperator(program, spec)
    if isinstance(spec, Sink):
        return SinkOperator(program, spec)
    kind = kind_of(spec)
    operator = kind.implementation()(program, spec)
    if not isinstance(operator, BaseOperator):
        raise ProgramError(
            f"What runs a {kind.name} operator is not a BaseOperator.",
            detail=f"{kind.operator!r} has made {operator!r}",
            operator=program.name,
            hint="derive it from a class of firesteel.runtime.operators",
        )
    return operator
