"""The functions that users write, one abstract class for each kind of operator, and what they are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.metrics import MetricGroup

if TYPE_CHECKING:
    from firesteel.program.distributed_cache import DistributedCache
    from firesteel.program.state.descriptors import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        StateDescriptor,
        ValueStateDescriptor,
    )
    from firesteel.program.state.kinds import (
        AggregatingState,
        ListState,
        MapState,
        OperatorStateStore,
        ReducingState,
        ValueState,
    )


class KeyedStateStore(ABC):
    """Hands out keyed state; the same name gives the same state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]: ...

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]: ...

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]: ...

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]: ...

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]: ...

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        """The state of a descriptor of any kind, also of those that other packages add."""
        raise UnsupportedFeatureError(
            f"A {type(self).__name__} has no state of kinds that are added.",
            hint="use the runtime context of a function on a keyed stream",
        )


class RuntimeContext(KeyedStateStore):
    """What a function learns in ``open`` about where it runs (Flink: ``RuntimeContext``)."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the chain that the function is part of."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """The parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """The index of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often the job was restarted before, 0 for the first attempt."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The task name with the subtask as people count, such as ``Map (2/4)#0``."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> Any:
        """A parameter of the job (``pipeline.global-job-parameters``)."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """The metrics of the operator: register them in ``open``."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """The files that the program has registered (``env.register_cached_file``)."""


class Function(ABC):  # noqa: B024  # abstract are the methods of its subclasses
    """Base of all functions. ``open`` is called before the first element, ``close`` when the worker is done.

    A function object lives in a worker process and may be created again between two epochs, so what it keeps
    in ``self`` between elements is a cache; anything that must last belongs in state.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare: ask for state, open a client."""

    def close(self) -> None:
        """Let go of what ``open`` took. Best effort: a worker that is killed does not call it."""


def function_behind(call: Any) -> Function | None:
    """The function object whose method ``call`` is (``get_key`` of a KeySelector); None: a plain callable."""
    owner = getattr(call, "__self__", None)
    return owner if isinstance(owner, Function) else None


class FunctionSnapshotContext(ABC):
    """What ``snapshot_state`` learns about the checkpoint."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The id of the checkpoint that is to hold the snapshot. When that one fails, a later one does, and
        ``notify_checkpoint_complete`` gives the id of that."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """When the checkpoint began, in epoch milliseconds."""


class FunctionInitializationContext(ABC):
    """What ``initialize_state`` gives access to."""

    @abstractmethod
    def is_restored(self) -> bool:
        """True when there is state from before."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore: ...

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Keyed state; only on a keyed stream."""


class CheckpointedFunction(ABC):
    """A mixin for functions that keep operator state (Flink: ``CheckpointedFunction``; PyFlink has none).

    A class that inherits from it and from one of the function classes has ``initialize_state`` called before
    ``open``, and ``snapshot_state`` at the end of each epoch.
    """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Bring operator state up to date."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Ask for operator state and take over what was restored."""


class CheckpointListener:
    """A mixin for functions that are told of checkpoints (Flink: ``CheckpointListener``; PyFlink has none).

    A function of any kind, or a ``SinkFunction``, that has one of these methods is told, whether it inherits
    from this class or not. The methods are called in the task, before the next records: at the beginning of
    the first epoch after the checkpoint has ended. What they raise fails the task. There is no current key in
    them, so keyed state cannot be used.

    The calls are best effort: after a failure one may be missing, and an epoch that is run again makes it
    again. So treat the end of a checkpoint as that of all before it, too, and make what you do idempotent.
    The function object that is told is the one that gets the next records, perhaps in another process than
    the one that had the last. So keep in state what is to be done then.
    """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint is complete: no failure takes back what ``snapshot_state`` was called for with this
        id, or with one before."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """The checkpoint has failed, and the job goes on: the next one covers what this one was to cover."""


class MapFunction(Function):
    """One element in, one out."""

    @abstractmethod
    def map(self, value: Any) -> Any: ...


class CoMapFunction(Function):
    """One element of either of two streams in, one out; None means nothing."""

    @abstractmethod
    def map1(self, value: Any) -> Any: ...

    @abstractmethod
    def map2(self, value: Any) -> Any: ...


class FlatMapFunction(Function):
    """One element in, any number out: an iterable or a generator."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any]: ...


class CoFlatMapFunction(Function):
    """One element of either of two streams in, any number out; None means nothing."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None: ...

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None: ...


class ReduceFunction(Function):
    """Folds two values into one of the same type."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any: ...


class AggregateFunction(Function):
    """Folds values into an accumulator of another type and makes a result of it."""

    @abstractmethod
    def create_accumulator(self) -> Any: ...

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value`` in it."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any: ...

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any: ...


class KeySelector(Function):
    """Takes the key out of an element. The same element must always give the same key."""

    @abstractmethod
    def get_key(self, value: Any) -> Any: ...


class NullByteKeySelector(KeySelector):
    """The same key for all: for what must see every element of a stream."""

    def get_key(self, value: Any) -> int:
        return 0


class FilterFunction(Function):
    """Keeps the elements for which it gives something true."""

    @abstractmethod
    def filter(self, value: Any) -> bool: ...


class Partitioner(Function):
    """Says which of ``num_partitions`` subtasks gets the elements of a key."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int: ...
