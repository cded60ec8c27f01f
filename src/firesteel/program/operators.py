"""What an operator does, as data: the runtime has one implementation for each of these kinds.

A *function* is an instance of the PyFlink function class that the kind names, or a plain callable with the
same signature; the runtime tells them apart (a plain callable has no ``open``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from firesteel.common.watermark_strategy import WatermarkStrategy
    from firesteel.program.output_tag import OutputTag
    from firesteel.program.state.descriptors import MapStateDescriptor


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """Base of all kinds; they are told apart by their class."""

    @property
    def is_cheap(self) -> bool:
        """Whether a record costs microseconds: no code of the user's runs for it, and nobody outside is
        waited for. An epoch may begin with many of them then."""
        return False


@dataclass(frozen=True, slots=True)
class Map(OperatorSpec):
    function: Any  # MapFunction | Callable[[IN], OUT]


@dataclass(frozen=True, slots=True)
class FlatMap(OperatorSpec):
    function: Any  # FlatMapFunction | Callable[[IN], Iterable[OUT]]


@dataclass(frozen=True, slots=True)
class Filter(OperatorSpec):
    function: Any  # FilterFunction | Callable[[IN], bool]


@dataclass(frozen=True, slots=True)
class Project(OperatorSpec):
    """Tuple or Row -> tuple or Row of the fields at ``indexes``."""

    indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Process(OperatorSpec):
    function: Any  # ProcessFunction


@dataclass(frozen=True, slots=True)
class KeyedProcess(OperatorSpec):
    function: Any  # KeyedProcessFunction


@dataclass(frozen=True, slots=True)
class KeyedMap(OperatorSpec):
    """map / flat_map / filter on a KeyedStream: a rich function may use keyed state there."""

    function: Any
    flat: bool = False
    filter: bool = False


@dataclass(frozen=True, slots=True)
class KeyedReduce(OperatorSpec):
    """Rolling aggregate: ``reduce(accumulated, value)``, the first value of a key is kept as it is.

    With ``newest_only`` the results of a key that are made from one batch are not all handed on but the last
    of them. ``finish`` makes the result of what is kept.
    """

    function: Any  # ReduceFunction | Callable[[T, T], T]
    newest_only: bool = False
    finish: Any = None  # Callable[[T], R]


@dataclass(frozen=True, slots=True)
class TimestampsAndWatermarks(OperatorSpec):
    strategy: WatermarkStrategy


@dataclass(frozen=True, slots=True)
class CoMap(OperatorSpec):
    function: Any  # CoMapFunction: map1, map2


@dataclass(frozen=True, slots=True)
class CoFlatMap(OperatorSpec):
    function: Any  # CoFlatMapFunction: flat_map1, flat_map2


@dataclass(frozen=True, slots=True)
class CoProcess(OperatorSpec):
    function: Any  # CoProcessFunction: process_element1, process_element2


@dataclass(frozen=True, slots=True)
class KeyedCoProcess(OperatorSpec):
    function: Any  # KeyedCoProcessFunction: process_element1, process_element2, on_timer


@dataclass(frozen=True, slots=True)
class KeyedCoMap(OperatorSpec):
    """CoMap (flat=False) or CoFlatMap (flat=True) on two keyed streams."""

    function: Any
    flat: bool


@dataclass(frozen=True, slots=True)
class WindowContents:
    """What is kept of a window's elements: all of them, or what ``function`` makes of them one by one."""

    kind: Literal["list", "reduce", "aggregate"]
    function: Any = None  # ReduceFunction | Callable[[T, T], T], or AggregateFunction


@dataclass(frozen=True, slots=True)
class Window(OperatorSpec):
    """One window operator (Flink: ``WindowOperator``, ``EvictingWindowOperator``).

    With an evictor all elements are kept whatever ``contents`` says; its function is applied when the
    window fires.
    """

    assigner: Any  # WindowAssigner
    trigger: Any  # Trigger
    contents: WindowContents
    function: Any = None  # (Process)(All)WindowFunction; None: the result of ``contents`` itself
    evictor: Any = None  # Evictor
    allowed_lateness_ms: int = 0
    late_tag: OutputTag | None = None
    combined: bool = False  # accumulators may come for elements; set when the job is translated


@dataclass(frozen=True, slots=True)
class IntervalJoin(OperatorSpec):
    """Pairs of one key with ``lower_ms <= right - left <= upper_ms``; exclusive bounds are moved by 1 ms."""

    function: Any  # ProcessJoinFunction
    lower_ms: int
    upper_ms: int
    left_late_tag: OutputTag | None = None
    right_late_tag: OutputTag | None = None


@dataclass(frozen=True, slots=True)
class BroadcastProcess(OperatorSpec):
    function: Any  # BroadcastProcessFunction: process_element, process_broadcast_element
    states: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class KeyedBroadcastProcess(OperatorSpec):
    """The first input is keyed, the second one is broadcast."""

    function: Any  # KeyedBroadcastProcessFunction
    states: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, slots=True)
class AsyncWait(OperatorSpec):
    """Requests that overlap (Flink: ``AsyncWaitOperator``)."""

    function: Any  # AsyncFunction
    timeout_ms: int
    capacity: int
    retry: Any  # AsyncRetryStrategy
    ordered: bool
