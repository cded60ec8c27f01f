"""A stream with a key: state and timers are kept for each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row
from firesteel.datastream._collect import CloseableIterator, execute_and_collect
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._returns import require_reduce
from firesteel.datastream._windowed_stream import WindowedStream
from firesteel.program import operators as ops
from firesteel.program.call_site import call_site
from firesteel.program.checks import (
    check_picklable,
    require_callable,
    require_function,
    to_type_information,
)
from firesteel.program.functions.aggregates import (
    AccumulateType as Aggregate,
    RollingAggregate,
    check_position,
)
from firesteel.program.functions.base import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from firesteel.program.functions.process import KeyedProcessFunction
from firesteel.program.operator_kinds import require_kind
from firesteel.program.output_tag import OutputTag
from firesteel.program.transformations import (
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    Transformation,
)
from firesteel.program.windows.assigners import count_window_assigner

if TYPE_CHECKING:
    from firesteel.datastream._interval_join import IntervalJoin
    from firesteel.datastream._salted_stream import SaltedStream
    from firesteel.program.windows.assigner import WindowAssigner


class KeyedStream(DataStream):
    """A stream whose operators have state and timers for each key (Flink: ``KeyedStream``).

    Records of one key always meet in the same subtask, in order. Settings such as name and parallelism
    belong to the operators before and after the partitioning.
    """

    AccumulateType = Aggregate

    def __init__(self, origin_stream: DataStream, partitioning: Partitioning) -> None:
        env = origin_stream._env
        origin = origin_stream._transformation
        transformation = PartitionTransformation(
            name=f"Partition({PartitionKind.HASH.value})",
            input=origin,
            partitioning=partitioning,
            output_type=origin.output_type,
            created_at=call_site(),
        )
        env._add(transformation)
        super().__init__(env, transformation)
        self._origin_stream = origin_stream
        self._partitioning = partitioning

    def _repr_html_(self) -> str:
        from firesteel.datastream._notebook import stream_html

        key = self._partitioning.key_type
        return stream_html(self, ("key type", "any" if key is None else str(key)))

    # ---- operators with keyed state ----

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: OutputType = None) -> DataStream:
        """One record out for each record in; a MapFunction may use keyed state."""
        require_callable(func, MapFunction, "Map")
        return self._keyed("Map", ops.KeyedMap(func), output_type)

    def flat_map(
        self, func: Callable[[Any], Iterable[Any]] | FlatMapFunction, output_type: OutputType = None
    ) -> DataStream:
        """Any number of records out for each record in; a FlatMapFunction may use keyed state."""
        require_callable(func, FlatMapFunction, "FlatMap")
        return self._keyed("FlatMap", ops.KeyedMap(func, flat=True), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """The records for which ``func`` gives something true; a FilterFunction may use keyed state."""
        require_callable(func, FilterFunction, "Filter")
        return self._keyed("Filter", ops.KeyedMap(func, filter=True), self._transformation.output_type)

    def process(  # type: ignore[override]  # as in PyFlink: a keyed stream takes the keyed function only
        self, func: KeyedProcessFunction, output_type: OutputType = None
    ) -> DataStream:
        """Full access to records, keyed state, timers and side outputs."""
        require_function(
            func,
            KeyedProcessFunction,
            "KEYED PROCESS",
            "derive the class from KeyedProcessFunction, or call process() before key_by()",
        )
        return self._keyed("KEYED PROCESS", ops.KeyedProcess(func), output_type)

    def transform(
        self, operator_name: str, out_type_info: OutputType, operator: ops.OperatorSpec
    ) -> DataStream:
        if require_kind(operator, 1, operator_name).keyed:
            return self._keyed(operator_name, operator, out_type_info)
        return super().transform(operator_name, out_type_info, operator)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Fold the records of a key; the result so far comes out for each record, in BATCH only the last."""
        require_reduce(func, "Reduce")
        return self._keyed("Reduce", ops.KeyedReduce(func), self._transformation.output_type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The rolling sum of one field; the other fields are those of the first record of the key.

        A position is the index or the name of a field; 0 stands for the whole of a plain value.
        """
        return self._accumulate(position_to_sum, Aggregate.SUM)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The smallest value of one field; the other fields are those of the first record of the key."""
        return self._accumulate(position_to_min, Aggregate.MIN)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The largest value of one field; the other fields are those of the first record of the key."""
        return self._accumulate(position_to_max, Aggregate.MAX)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The whole record with the smallest value of one field, the first of several."""
        return self._accumulate(position_to_min_by, Aggregate.MIN_BY)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The whole record with the largest value of one field, the first of several."""
        return self._accumulate(position_to_max_by, Aggregate.MAX_BY)

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStream:
        """The records with another key."""
        return self._origin_stream.key_by(key_selector, key_type)

    # ---- windows ----

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """The records of each key in the windows that ``window_assigner`` gives them."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` records of a key: one after the other, or one each ``slide`` records."""
        return self.window(count_window_assigner(size, slide))

    # ---- skew ----

    def salted(self, buckets: int) -> SaltedStream:
        """The same keys, each spread over up to ``buckets`` subtasks: for keys that one alone cannot keep up
        with (``docs/skew.md``). ``reduce``, and ``reduce`` and ``aggregate`` of tumbling and sliding windows
        of event time, then work in two stages, by key and salt and then by key; all else is refused.

        The function must not mind in which order records come, nor how they are grouped; an
        ``AggregateFunction`` needs ``merge``. Results of windows are those without a salt, and come when
        those come; a rolling ``reduce`` ends in the same result for each key, but not every record gives one.

        >>> from firesteel.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> hits = env.from_collection([("/", 1), ("/", 1), ("/about", 1)])
        >>> totals = hits.key_by(lambda hit: hit[0]).salted(32).reduce(lambda a, b: (a[0], a[1] + b[1]))

        :raises WrongArgumentError: ``buckets`` is not an int of at least 1.
        """
        from firesteel.datastream._salted_stream import SaltedStream

        return SaltedStream(self, buckets)

    # ---- joins ----

    def interval_join(self, other: KeyedStream) -> IntervalJoin:
        """Pairs of records of one key whose timestamps are close; ``.between(...).process(...)`` follow."""
        from firesteel.datastream._interval_join import IntervalJoin

        return IntervalJoin(self, other)

    # ---- results ----

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give a ``Row(f0=key, f1=record)`` for each record, as PyFlink does; the records
        alone: ``keyed.map(lambda record: record).execute_and_collect()``."""
        keyed = self._with_keys()
        return execute_and_collect(self._env, keyed._transformation, job_execution_name, limit)

    # ---- what a keyed stream refuses ----

    def _operator(self, setting: str) -> Transformation:
        raise ProgramError(
            f"The {setting} cannot be set or read on a keyed stream.",
            operator=self._origin_stream._transformation.name,
            hint="use the stream before key_by() or the operator after it",
        )

    def _partition(self, partitioning: Partitioning) -> NoReturn:
        raise ProgramError(
            "The partitioning of a keyed stream cannot be replaced.",
            operator=self._origin_stream._transformation.name,
            detail=f"{partitioning.kind.value} after key_by()",
            hint="partition the stream before key_by() or after the next operator",
        )

    # Spelled out because PyFlink's keyed stream has them too.

    def shuffle(self) -> NoReturn:
        self._partition(Partitioning(PartitionKind.SHUFFLE))

    def rebalance(self) -> NoReturn:
        self._partition(Partitioning(PartitionKind.REBALANCE))

    def rescale(self) -> NoReturn:
        self._partition(Partitioning(PartitionKind.RESCALE))

    def forward(self) -> NoReturn:
        self._partition(Partitioning(PartitionKind.FORWARD))

    def broadcast(self, *args: Any) -> NoReturn:
        self._partition(Partitioning(PartitionKind.BROADCAST))

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> NoReturn:
        self._partition(Partitioning(PartitionKind.CUSTOM))

    # ---- inside ----

    def _emitter(self, output_tag: OutputTag) -> Transformation:
        raise ProgramError(
            "A side output belongs to the operator that emits to it.",
            operator=self._origin_stream._transformation.name,
            detail=f"side output {output_tag.tag_id!r} is asked for on a keyed stream",
            hint="call get_side_output() on what process() returned",
        )

    def _accumulate(self, position: int | str, kind: Aggregate) -> DataStream:
        operator = kind.name.lower()
        check_position(position, kind, self._transformation.output_type, operator)
        return self.reduce(RollingAggregate(position, kind))

    def _with_keys(self) -> KeyedStream:
        """``Row(key, record)`` with the same keys."""
        selector, key_type = self._partitioning.key_selector, self._partitioning.key_type
        assert selector is not None
        anything = Types.PICKLED_BYTE_ARRAY()
        types = [key_type or anything, self._transformation.output_type or anything]
        rows = self._map_origin("Key", lambda record: Row(selector(record), record), Types.ROW(types))
        return rows.key_by(itemgetter(0), key_type)

    def _map_origin(
        self, name: str, func: Callable[[Any], Any] | MapFunction, output_type: OutputType
    ) -> DataStream:
        """The records before the exchange, mapped where they come from."""
        mapped = self._origin_stream.map(func, output_type).name(name)
        parallelism = self._origin_stream._transformation.parallelism
        return mapped if parallelism is None else mapped.set_parallelism(parallelism)

    def _keyed(self, name: str, operator: ops.OperatorSpec, output_type: OutputType) -> DataStream:
        check_picklable(operator, name)
        return self._add(
            OneInputTransformation(
                name=name,
                input=self._transformation,
                operator=operator,
                key_selector=self._partitioning.key_selector,
                key_type=self._partitioning.key_type,
                output_type=to_type_information(output_type, "output_type", name),
                created_at=call_site(),
            )
        )
