"""What a program is before it is translated: transformations that point back at their inputs.

Every call of the DataStream API makes one of these (Flink: ``org.apache.flink.api.dag.Transformation``).
They are plain data; ``firesteel.graph`` turns them into the stream graph. Partitions, unions and side
outputs are *virtual*: they become properties of edges, never nodes.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from firesteel.program.quick_pickle import quick_pickle

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.common.watermark_strategy import WatermarkStrategy
    from firesteel.program.operators import OperatorSpec
    from firesteel.program.output_tag import OutputTag
    from firesteel.program.sinks import Sink
    from firesteel.program.sources import Source

_ids = itertools.count(1)


class ChainingStrategy(enum.Enum):
    """How an operator may be chained to its neighbours (Flink: ``ChainingStrategy``)."""

    ALWAYS = "ALWAYS"  # to its input and to its consumers
    HEAD = "HEAD"  # starts a chain: not to its input (start_new_chain, sources)
    NEVER = "NEVER"  # disable_chaining


class PartitionKind(enum.Enum):
    """How records of an edge find their subtask. The values are the names that plans show."""

    FORWARD = "FORWARD"
    REBALANCE = "REBALANCE"
    RESCALE = "RESCALE"
    SHUFFLE = "SHUFFLE"
    BROADCAST = "BROADCAST"
    GLOBAL = "GLOBAL"
    HASH = "HASH"
    CUSTOM = "CUSTOM"


@quick_pickle
@dataclass(frozen=True, slots=True)
class Partitioning:
    """A partitioner and what it needs. ``key_selector`` for HASH and CUSTOM, ``partition`` for CUSTOM."""

    kind: PartitionKind
    key_selector: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None
    partition: Callable[[Any, int], int] | None = None  # (key, number of subtasks) -> subtask


@dataclass(eq=False, slots=True, kw_only=True)
class Transformation:
    """One node of the program. ``parallelism`` and ``max_parallelism`` None: the environment's."""

    name: str
    output_type: TypeInformation | None = None  # None: any Python object
    parallelism: int | None = None
    max_parallelism: int | None = None
    non_parallel: bool = False  # both are 1 and stay 1
    uid: str | None = None
    uid_hash: str | None = None
    description: str | None = None
    slot_sharing_group: str | None = None  # None: inherited from the inputs
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    buffer_timeout_ms: int | None = None
    created_at: str | None = None  # "file.py:12": where in the user's program, for error texts
    statement: str | None = None  # the text of the SQL that it ends
    id: int = field(default_factory=lambda: next(_ids))

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return ()


@dataclass(eq=False, slots=True, kw_only=True)
class SourceTransformation(Transformation):
    source: Source
    watermark_strategy: WatermarkStrategy | None = None
    chaining: ChainingStrategy = ChainingStrategy.HEAD


@dataclass(eq=False, slots=True, kw_only=True)
class OneInputTransformation(Transformation):
    input: Transformation = field(repr=False)
    operator: OperatorSpec
    key_selector: Callable[[Any], Any] | None = None  # set: the operator has keyed state
    key_type: TypeInformation | None = None

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return (self.input,)


@dataclass(eq=False, slots=True, kw_only=True)
class TwoInputTransformation(Transformation):
    input1: Transformation = field(repr=False)
    input2: Transformation = field(repr=False)
    operator: OperatorSpec
    key_selector1: Callable[[Any], Any] | None = None
    key_selector2: Callable[[Any], Any] | None = None
    key_type: TypeInformation | None = None

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return (self.input1, self.input2)


@dataclass(eq=False, slots=True, kw_only=True)
class SinkTransformation(Transformation):
    input: Transformation = field(repr=False)
    sink: Sink

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return (self.input,)


@dataclass(eq=False, slots=True, kw_only=True)
class PartitionTransformation(Transformation):  # virtual
    input: Transformation = field(repr=False)
    partitioning: Partitioning

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return (self.input,)


@dataclass(eq=False, slots=True, kw_only=True)
class UnionTransformation(Transformation):  # virtual
    union_of: tuple[Transformation, ...] = field(repr=False)

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return self.union_of


@dataclass(eq=False, slots=True, kw_only=True)
class SideOutputTransformation(Transformation):  # virtual
    input: Transformation = field(repr=False)
    tag: OutputTag

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return (self.input,)


class Cache(Protocol):
    """Where the records of a stream are kept."""

    @property
    def origin(self) -> Transformation | None:
        """What reads the records; None: there are none, or some are lost."""

    def keep(self, directory: str, stream: Transformation) -> None:
        """A job has come to its end and left the records of ``stream`` in ``directory``."""

    def drop(self) -> None:
        """Keep them no longer."""


@dataclass(eq=False, slots=True, kw_only=True)
class CacheTransformation(Transformation):  # virtual
    """The records of ``input``: from there until a job has kept them, then from where they are kept."""

    input: Transformation = field(repr=False)
    cache: Cache

    @property
    def origin(self) -> Transformation:
        return self.cache.origin or self.input

    @property
    def inputs(self) -> tuple[Transformation, ...]:
        return (self.origin,)


#: Between two operators, with no output of their own.
ROUTES: Final = (PartitionTransformation, UnionTransformation, CacheTransformation)
#: Not operators at all.
VIRTUAL: Final = (*ROUTES, SideOutputTransformation)


def is_single(stream: Transformation) -> bool:
    """Whether all records come out of one subtask, however the job is scaled."""
    if isinstance(stream, UnionTransformation):
        return all(map(is_single, stream.union_of))
    return stream.max_parallelism == 1


def make_single(operator: Transformation) -> None:
    """Have all its records pass through one subtask."""
    operator.parallelism, operator.max_parallelism, operator.non_parallel = 1, 1, True
