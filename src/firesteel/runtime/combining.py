"""Which operators can have their input aggregated before the exchange, and what is made of it there.

A kind of operator that can be served so has its ``Combining`` in its record (``program/operator_kinds.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from firesteel.common.options.firesteel import PRE_AGGREGATION
from firesteel.program.checks import require_merge
from firesteel.program.functions.aggregates import AccumulateType, RollingAggregate
from firesteel.program.functions.base import Function
from firesteel.program.functions.salted import WindowsOfParts
from firesteel.program.operator_kinds import kind_of
from firesteel.program.operators import KeyedReduce, OperatorSpec, Window, WindowContents
from firesteel.program.registry import load
from firesteel.runtime.operators.panes import OWN_TRIGGERS, fires_by_itself
from firesteel.runtime.program import OperatorProgram

__all__ = ["REDUCES", "WINDOWS", "Combining", "combining_of"]

_BY_RECORD: Final = frozenset((AccumulateType.MIN_BY, AccumulateType.MAX_BY))
_BY_KEY: Final = "its input is not exchanged by key"

#: (spec, whether its input is exchanged by key, BATCH mode) -> whether it stands in the way; and why.
Obstacle = tuple[Callable[[Any, bool, bool], bool], str]


def _itself(program: OperatorProgram) -> OperatorProgram:
    return program


def _yes(spec: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Combining:
    """How the input of a kind of operator is aggregated.

    :param obstacles: what stands in the way; the first that applies is told.
    :param contents: a spec -> what elements become.
    :param windows: a spec -> itself, where elements are aggregated by key and window; None: by key alone.
    :param receiver: an operator -> the same, which takes what is aggregated.
    :param is_told: whether it is worth a word that a spec is not served.
    """

    obstacles: tuple[Obstacle, ...]
    contents: Callable[[Any], WindowContents]
    windows: Callable[[Any], Window | None] = lambda spec: None
    receiver: Callable[[OperatorProgram], OperatorProgram] = _itself
    is_told: Callable[[Any], bool] = _yes

    def obstacle(self, spec: Any, by_key: bool, batch: bool) -> str | None:
        """Why the input of an operator is not aggregated before the exchange; None: it is."""
        return next((why for applies, why in self.obstacles if applies(spec, by_key, batch)), None)


def combining_of(spec: Any) -> Combining | None:
    """That of the kind of an operator; None: its input always travels as it is."""
    place = kind_of(spec).combining if isinstance(spec, OperatorSpec) else None
    return load(place) if isinstance(place, str) else place


# ---- windows


def _receiver(program: OperatorProgram) -> OperatorProgram:
    spec = program.spec
    assert isinstance(spec, Window)
    if spec.contents.kind != "aggregate":
        return program
    require_merge(
        spec.contents.function,
        program.name,
        detail="accumulators that were made before the exchange are merged behind it",
        hint=f"write merge(), or set {PRE_AGGREGATION.key} to false",
    )
    return replace(program, spec=replace(spec, combined=True))


WINDOWS: Final = Combining(
    obstacles=(
        (lambda spec, by_key, batch: not by_key, _BY_KEY),
        (
            lambda spec, by_key, batch: spec.contents.kind == "list",
            "its function gets all elements; reduce() and aggregate() can take them aggregated",
        ),
        (lambda spec, by_key, batch: spec.evictor is not None, "its evictor looks at all elements"),
        (
            lambda spec, by_key, batch: type(spec.assigner) not in OWN_TRIGGERS,
            "its windows follow from more than the time of an element, unlike tumbling and sliding ones",
        ),
        (
            lambda spec, by_key, batch: not fires_by_itself(spec),
            "its trigger is called for each element",
        ),
    ),
    contents=lambda spec: spec.contents,
    windows=lambda spec: spec,
    receiver=_receiver,
    # Nothing is said of the second stage of a salted stream, whose input is aggregated by the first.
    is_told=lambda spec: not isinstance(spec.assigner, WindowsOfParts),
)


# ---- reduces


def _is_opened(function: Any) -> bool:
    return isinstance(function, Function) and type(function).open is not Function.open


def _takes_the_first(spec: KeyedReduce) -> bool:
    return isinstance(spec.function, RollingAggregate) and spec.function.kind in _BY_RECORD


REDUCES: Final = Combining(
    obstacles=(
        (
            lambda spec, by_key, batch: not batch and not spec.newest_only,
            "a result comes out for each element; in BATCH mode only the last one does",
        ),
        (lambda spec, by_key, batch: not by_key, _BY_KEY),
        (
            lambda spec, by_key, batch: _is_opened(spec.function),
            "its function has an open(), which the exchange cannot call",
        ),
        (
            lambda spec, by_key, batch: _takes_the_first(spec),
            "of equal records the first one by time comes out",
        ),
    ),
    contents=lambda spec: WindowContents("reduce", spec.function),
)
