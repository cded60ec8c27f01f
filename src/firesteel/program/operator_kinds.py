"""The kinds of operators: one record for each, with what graphs, jobs and tasks have to know of a kind.

The spec says what an operator is to do; it is an object of the program (``program/operators.py``). The record
says what is so for all specs of its class, and what runs them: a class of ``runtime``, named by its place,
since what a program is does not import what runs it. Other packages call ``KINDS.register``; see
``docs/extending.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.program import operators as specs
from firesteel.program.checks import WrongArgumentError
from firesteel.program.operators import OperatorSpec
from firesteel.program.registry import Registry, UnknownKindError, load

__all__ = ["KINDS", "OperatorKind", "kind_of", "require_kind"]


def _nothing(spec: Any) -> Sequence[tuple[str, str]]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorKind:
    """What there is to know of a kind of operator.

    :param spec: the class of its specs; its name is that of the kind, which plans show.
    :param operator: what runs a spec: a subclass of ``runtime.operators.base.BaseOperator``, or a function
        ``(program, spec)`` that makes such an operator; or its place, as ``"module:name"``.
    :param inputs: how many it has, 1 or 2.
    :param keyed: whether it has keyed state and timers, so that it needs a keyed stream.
    :param broadcast_input: the input of which each subtask sees all records; in BATCH mode it is read to its
        end before the other one begins. None: there is none.
    :param operator_state: whether it has state that belongs to no key beside that of its function.
    :param fused: whether it takes records of the operator before it in a chain as they are: the type that is
        declared between the two is not applied, but for rows.
    :param window_serializer: a spec -> the serializer of the windows that its keyed state belongs to.
    :param combining: how its input can be aggregated before the exchange: a ``runtime.combining.Combining``,
        or the place of one. None: records travel as they are.
    :param without_effect: a spec -> the settings in it that do nothing there, each with the reason.
    """

    spec: type[OperatorSpec]
    operator: str | Callable[[Any, Any], Any]
    inputs: int = 1
    keyed: bool = False
    broadcast_input: int | None = None
    operator_state: bool = False
    fused: bool = False
    window_serializer: Callable[[Any], Any] | None = None
    combining: Any = None
    without_effect: Callable[[Any], Sequence[tuple[str, str]]] = _nothing

    def __post_init__(self) -> None:
        if not isinstance(self.spec, type) or not issubclass(self.spec, OperatorSpec):
            raise ProgramError(
                "The specs of a kind of operator are of a subclass of OperatorSpec.",
                detail=f"got {self.spec!r}",
                hint="write a frozen dataclass for what such an operator is to do",
            )
        if self.inputs not in (1, 2) or self.broadcast_input not in (None, *range(self.inputs)):
            raise ProgramError(
                f"A {self.name} operator has one input or two.",
                detail=f"inputs={self.inputs!r}, broadcast_input={self.broadcast_input!r}",
            )

    @property
    def name(self) -> str:
        return self.spec.__name__

    def implementation(self) -> Callable[[Any, Any], Any]:
        """What makes the operator of a program and its spec."""
        return load(self.operator) if isinstance(self.operator, str) else self.operator


KINDS: Final = Registry("kind of operator", OperatorKind)


def kind_of(spec: OperatorSpec) -> OperatorKind:
    """The kind of the operator of a spec.

    :raises UnknownKindError: nothing that is imported has registered it.
    """
    cls = type(spec)
    kind = KINDS.named(cls.__name__)
    if kind.spec is not cls and kind.spec.__module__ != cls.__module__:
        raise UnknownKindError(
            f"There is no kind of operator {cls.__module__}.{cls.__name__}.",
            detail=f"{cls.__name__} is that of {kind.spec.__module__}",
            hint="give the class another name, and register it",
        )
    return kind


def require_kind(spec: Any, inputs: int, operator: str) -> OperatorKind:
    """The kind of a spec that a stream is given, whose operator has as many inputs.

    :raises WrongArgumentError: it is not a spec of such an operator.
    """
    if not isinstance(spec, OperatorSpec):
        raise WrongArgumentError(
            "transform() takes the spec of an operator.",
            operator=operator,
            detail=f"got {spec!r}",
            hint="derive its class from firesteel.program.operators.OperatorSpec, and register its kind",
        )
    kind = kind_of(spec)
    if kind.inputs != inputs:
        raise WrongArgumentError(
            f"A {kind.name} operator has {kind.inputs} input{'s' if kind.inputs > 1 else ''}, not {inputs}.",
            operator=operator,
            hint="connect() two streams, and call transform() on both" if inputs == 1 else None,
        )
    return kind


# ---- Firesteel's own

_RUNTIME: Final = "firesteel.runtime."


def _own(spec: type[OperatorSpec], place: str, **traits: Any) -> None:
    KINDS.register(OperatorKind(spec=spec, operator=_RUNTIME + place, **traits))


def _alignment(spec: specs.TimestampsAndWatermarks) -> Sequence[tuple[str, str]]:
    if spec.strategy.alignment is None:
        return ()
    why = "only sources can wait for each other; give the strategy to from_source"
    return (("with_watermark_alignment", why),)


_own(specs.Map, "operators.stateless:MapOperator", fused=True)
_own(specs.FlatMap, "operators.stateless:FlatMapOperator", fused=True)
_own(specs.Filter, "operators.stateless:FilterOperator", fused=True)
_own(specs.Project, "operators.stateless:ProjectOperator")
_own(specs.Process, "operators.stateless:ProcessOperator", fused=True)
_own(specs.KeyedProcess, "operators.keyed:KeyedProcessOperator", keyed=True)
_own(specs.KeyedMap, "operators.keyed:KeyedMapOperator", keyed=True)
_own(
    specs.KeyedReduce,
    "operators.keyed:KeyedReduceOperator",
    keyed=True,
    combining="firesteel.runtime.combining:REDUCES",
)
_own(
    specs.TimestampsAndWatermarks,
    "operators.source:TimestampsAndWatermarksOperator",
    without_effect=_alignment,
)
_own(specs.CoMap, "operators.two_input:CoOperator", inputs=2)
_own(specs.CoFlatMap, "operators.two_input:CoOperator", inputs=2)
_own(specs.CoProcess, "operators.two_input:CoOperator", inputs=2)
_own(specs.KeyedCoProcess, "operators.two_input:KeyedCoOperator", inputs=2, keyed=True)
_own(specs.KeyedCoMap, "operators.two_input:KeyedCoOperator", inputs=2, keyed=True)
_own(specs.IntervalJoin, "operators.interval_join:IntervalJoinOperator", inputs=2, keyed=True)
_own(
    specs.BroadcastProcess,
    "operators.broadcast:BroadcastOperator",
    inputs=2,
    broadcast_input=1,
    operator_state=True,
)
_own(
    specs.KeyedBroadcastProcess,
    "operators.broadcast:KeyedBroadcastOperator",
    inputs=2,
    keyed=True,
    broadcast_input=1,
    operator_state=True,
)
_own(
    specs.Window,
    "windowing.operators:window_operator",
    keyed=True,
    window_serializer=lambda spec: spec.assigner.get_window_serializer(),
    combining="firesteel.runtime.combining:WINDOWS",
)
_own(specs.AsyncWait, "operators.async_wait:AsyncWaitOperator")
