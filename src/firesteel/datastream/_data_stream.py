"""A stream of records, and everything that can be made of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, overload

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream._collect import CloseableIterator, execute_and_collect
from firesteel.datastream._refused_methods import RefusedMethods
from firesteel.datastream._settings import StreamSettings
from firesteel.datastream._sink_stream import (
    DataStreamSink,
    add_sink,
    print_sink,
    sink_to,
    to_spark,
    write_spark,
)
from firesteel.datastream._stream_cache import Cacheable
from firesteel.datastream._windowed_stream import AllWindowedStream
from firesteel.program import operators as ops
from firesteel.program.bad_records import SIDE_OUTPUT as BAD_RECORDS
from firesteel.program.call_site import call_site
from firesteel.program.checks import (
    WrongArgumentError,
    as_callable,
    check_picklable,
    projected_type,
    require_callable,
    require_function,
    require_key_type,
    to_type_information,
)
from firesteel.program.functions.base import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
)
from firesteel.program.functions.legacy_connectors import SinkFunction
from firesteel.program.functions.process import ProcessFunction
from firesteel.program.operator_kinds import require_kind
from firesteel.program.output_tag import OutputTag
from firesteel.program.sink_wrappers import SupportsPreprocessing
from firesteel.program.state.descriptors import MapStateDescriptor
from firesteel.program.transformations import (
    ROUTES,
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    SideOutputTransformation,
    SourceTransformation,
    Transformation,
    UnionTransformation,
)
from firesteel.program.windows.assigners import count_window_assigner

if TYPE_CHECKING:
    from firesteel.common.execution_config import ExecutionConfig
    from firesteel.datastream._broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from firesteel.datastream._connected_streams import ConnectedStreams
    from firesteel.datastream._joined_streams import CoGroupedStreams, JoinedStreams
    from firesteel.datastream._keyed_stream import KeyedStream
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.program.spark_tables import SparkBatch
    from firesteel.program.windows.assigner import WindowAssigner

OutputType = TypeInformation | list[TypeInformation] | None


def identity(value: Any) -> Any:
    """Hands a record on as it is."""
    return value


class DataStream(StreamSettings, Cacheable, RefusedMethods):
    """A stream of records of one type (Flink: ``DataStream``).

    Every method adds to the program of the environment and nothing runs before
    ``StreamExecutionEnvironment.execute``. ``output_type`` declares the type of the records that come out;
    without it they may be any Python objects.
    """

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        self._env = environment
        self._transformation = transformation

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream belongs to the program that is being built and cannot go to the workers")

    def _operator(self, setting: str) -> Transformation:
        # A side output and a custom partitioning may be named, and given a parallelism, as in PyFlink, where
        # a map stands behind each of them: put it there when the first setting asks for it.
        virtual = self._transformation
        is_custom = (
            isinstance(virtual, PartitionTransformation) and virtual.partitioning.kind is PartitionKind.CUSTOM
        )
        if is_custom or isinstance(virtual, SideOutputTransformation):
            self._transformation = self._transform(
                "Map", ops.Map(identity), virtual.output_type
            )._transformation
        return super()._operator(setting)

    # ---- facts ----

    def get_type(self) -> TypeInformation:
        """The type of the records; ``Types.PICKLED_BYTE_ARRAY()`` when none was declared."""
        return self._transformation.output_type or Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        return self._env.get_config()

    def _repr_html_(self) -> str:
        from firesteel.datastream._notebook import stream_html

        return stream_html(self)

    # ---- one stream to one ----

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: OutputType = None) -> DataStream:
        """One record out for each record in."""
        require_callable(func, MapFunction, "Map")
        return self._transform("Map", ops.Map(func), output_type)

    def flat_map(
        self, func: Callable[[Any], Iterable[Any]] | FlatMapFunction, output_type: OutputType = None
    ) -> DataStream:
        """Any number of records out for each record in."""
        require_callable(func, FlatMapFunction, "FlatMap")
        return self._transform("FlatMap", ops.FlatMap(func), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """The records for which ``func`` gives something true."""
        require_callable(func, FilterFunction, "Filter")
        return self._transform("Filter", ops.Filter(func), self._transformation.output_type)

    def process(self, func: ProcessFunction, output_type: OutputType = None) -> DataStream:
        """Full access to records, time and side outputs; state and timers need a keyed stream."""
        require_function(
            func,
            ProcessFunction,
            "PROCESS",
            "a KeyedProcessFunction needs a keyed stream: call key_by() before process()",
        )
        return self._transform("PROCESS", ops.Process(func), output_type)

    def project(self, *field_indexes: int) -> DataStream:
        """The fields at ``field_indexes`` of a stream of tuples with a declared type."""
        chosen = projected_type(self._transformation.output_type, field_indexes, "Projection")
        return self._transform("Projection", ops.Project(field_indexes), chosen)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Give the records timestamps, and the stream watermarks, as ``watermark_strategy`` says."""
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise WrongArgumentError(
                "assign_timestamps_and_watermarks() needs a WatermarkStrategy.",
                operator="Timestamps/Watermarks",
                detail=f"got {watermark_strategy!r}",
                hint="for example WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))",
            )
        # A copy: with_timestamp_assigner() changes a strategy, for later uses of it only.
        spec = ops.TimestampsAndWatermarks(copy.copy(watermark_strategy))
        return self._transform("Timestamps/Watermarks", spec, self._transformation.output_type)

    def transform(
        self, operator_name: str, out_type_info: OutputType, operator: ops.OperatorSpec
    ) -> DataStream:
        """An operator of any kind with this stream as its input, also of those that other packages add
        (``docs/extending.md``)."""
        if require_kind(operator, 1, operator_name).keyed:
            raise ProgramError(
                f"A {type(operator).__name__} operator has keyed state, and the stream is not keyed.",
                operator=operator_name,
                hint="call key_by(...) before transform()",
            )
        return self._transform(operator_name, operator, out_type_info)

    # ---- several streams ----

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector, key_type: TypeInformation | None = None
    ) -> KeyedStream:
        """The same records with a key, which state and timers are kept for."""
        from firesteel.datastream._keyed_stream import KeyedStream

        selector = as_callable(key_selector, KeySelector, "get_key", "key_by")
        check_picklable(key_selector, "key_by")
        checked_type = to_type_information(key_type, "key type", "key_by")
        require_key_type(checked_type, "key_by")
        return KeyedStream(self, Partitioning(PartitionKind.HASH, selector, checked_type))

    def union(self, *streams: DataStream) -> DataStream:
        """The records of this stream and of ``streams``, which must be of the same type."""
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise WrongArgumentError("union() takes streams.", operator="union", detail=f"got {stream!r}")
            self._require_same_environment(stream, "union")
            if stream.get_type() != self.get_type():
                raise WrongArgumentError(
                    "Streams of different types cannot be united.",
                    operator="union",
                    detail=f"{self.get_type()} and {stream.get_type()}",
                    hint="map them to one declared type, or connect() them",
                )
        inputs = (self._transformation, *(s._transformation for s in streams))
        return self._add(
            UnionTransformation(
                name="Union",
                union_of=inputs,
                output_type=self._transformation.output_type,
                created_at=call_site(),
            )
        )

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """This stream and ``ds``, whose type may differ, as the two inputs of one operator."""
        from firesteel.datastream._broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from firesteel.datastream._connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, DataStream):
            raise WrongArgumentError("connect() takes a stream.", operator="connect", detail=f"got {ds!r}")
        self._require_same_environment(ds, "connect")
        return ConnectedStreams(self, ds)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """What the operator of this stream emits to ``output_tag``."""
        if not isinstance(output_tag, OutputTag):
            raise WrongArgumentError(
                "get_side_output() takes an OutputTag.",
                operator=self._transformation.name,
                detail=f"got {output_tag!r}",
            )
        source = self._emitter(output_tag)
        self._env._register_side_output(source, output_tag)
        return self._add(
            SideOutputTransformation(
                name=f"SideOutput({output_tag.tag_id})",
                input=source,
                tag=output_tag,
                output_type=output_tag.type_info,
                created_at=call_site(),
            )
        )

    # ---- windows ----

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """All records in the windows that ``window_assigner`` gives them; one subtask gets them all."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of ``size`` records: one after the other, or one each ``slide`` records."""
        return self.window_all(count_window_assigner(size, slide))

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pairs of a record of this stream and one of ``other_stream`` with the same key and window:
        ``one.join(two).where(key1).equal_to(key2).window(assigner).apply(function)``."""
        from firesteel.datastream._joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """The records of this stream and of ``other_stream`` with the same key and window, as two groups:
        ``one.co_group(two).where(key1).equal_to(key2).window(assigner).apply(function)``."""
        from firesteel.datastream._joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    # ---- partitioning ----

    def shuffle(self) -> DataStream:
        """Each record to a random subtask of the next operator."""
        return self._partition(Partitioning(PartitionKind.SHUFFLE))

    def rebalance(self) -> DataStream:
        """Records to all subtasks of the next operator in turn."""
        return self._partition(Partitioning(PartitionKind.REBALANCE))

    def rescale(self) -> DataStream:
        """Records in turn to a part of the subtasks of the next operator."""
        return self._partition(Partitioning(PartitionKind.RESCALE))

    def forward(self) -> DataStream:
        """Records to the same subtask of the next operator, which must have the same parallelism."""
        return self._partition(Partitioning(PartitionKind.FORWARD))

    def global_(self) -> DataStream:
        """All records to the first subtask of the next operator (Flink: ``global``)."""
        return self._partition(Partitioning(PartitionKind.GLOBAL))

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Every record to every subtask of the next operator; with descriptors of broadcast state, a stream
        to connect() to."""
        from firesteel.datastream._broadcast_stream import BroadcastStream

        partitioned = self._partition(Partitioning(PartitionKind.BROADCAST))
        if broadcast_state_descriptor is None:
            return partitioned
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        return BroadcastStream(partitioned, descriptors)

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        """Each record to the subtask ``partitioner(key, number of subtasks)`` of the next operator."""
        partition = as_callable(partitioner, Partitioner, "partition", "partition_custom")
        selector = as_callable(key_selector, KeySelector, "get_key", "partition_custom")
        check_picklable(partitioner, "partition_custom")
        check_picklable(key_selector, "partition_custom")
        return self._partition(Partitioning(PartitionKind.CUSTOM, selector, None, partition))

    # ---- ends ----

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records, each after ``sink_identifier`` and the number of the subtask."""
        return print_sink(self._env, self._transformation, sink_identifier)

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Write the records with a sink of ``firesteel.datastream.connectors`` or one of your own."""
        transformer = sink.get_transformer() if isinstance(sink, SupportsPreprocessing) else None
        stream = self if transformer is None else transformer.apply(self)
        return sink_to(stream._env, stream._transformation, sink)

    def add_sink(self, sink_func: SinkFunction) -> DataStreamSink:
        """Hand every record to a SinkFunction, at least once; new programs use ``sink_to``."""
        return add_sink(self._env, self._transformation, sink_func)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the program and give the records of this stream: an iterator, or a list of ``limit`` of them.

        Close the iterator, or use it in a ``with``; closing it ends the job.
        """
        return execute_and_collect(self._env, self._transformation, job_execution_name, limit)

    def to_spark(self) -> Any:
        """Run the program and give the records of this bounded stream as a Spark DataFrame.

        The columns are the fields of the declared Row or tuple type, or ``value``.
        """
        return to_spark(self._env, self._transformation)

    def write_spark(
        self,
        format: str | Callable[[Any, SparkBatch], Any],
        path: str | None = None,
        *,
        table: str | None = None,
        at_least_once: bool = False,
        **options: Any,
    ) -> DataStreamSink:
        """Append the records to a table that Spark writes, a batch for each checkpoint (without checkpoints:
        for each epoch); ``docs/files.md`` has what is exactly once. The columns are those of ``to_spark``.

        :param format: a data source of Spark (``"delta"``, ``"iceberg"``, ``"parquet"``, ``"jdbc"`` ...), or
            a function ``write(data_frame, batch)`` that is called in the driver; ``batch.id`` is the same
            when a batch comes again after a failure.
        :param path: where the data source writes, or ``table``: the name of its table.
        :param at_least_once: a batch may be written twice after a failure: needed where the data source can
            tell no batch from another.
        :param options: of Spark's writer.
        """
        return write_spark(self._env, self._transformation, (format, path, table, options, at_least_once))

    # ---- inside ----

    def _emitter(self, output_tag: OutputTag) -> Transformation:
        if isinstance(self._transformation, ROUTES):
            raise ProgramError(
                "A side output belongs to the operator that emits to it.",
                operator=self._transformation.name,
                detail=f"side output {output_tag.tag_id!r} is asked for after a partitioning, union or cache",
                hint="call get_side_output() on what map(), process() ... returned",
            )
        if output_tag.tag_id == BAD_RECORDS and not isinstance(self._transformation, SourceTransformation):
            raise ProgramError(
                "The side output of bad records belongs to a source.",
                operator=self._transformation.name,
                hint="call get_side_output(BAD_RECORDS) on what from_source() returned",
            )
        return self._transformation

    def _add(self, transformation: Transformation) -> DataStream:
        self._env._add(transformation)
        return DataStream(self._env, transformation)

    def _transform(self, name: str, operator: ops.OperatorSpec, output_type: OutputType) -> DataStream:
        check_picklable(operator, name)
        return self._add(
            OneInputTransformation(
                name=name,
                input=self._transformation,
                operator=operator,
                output_type=to_type_information(output_type, "output_type", name),
                created_at=call_site(),
            )
        )

    def _partition(self, partitioning: Partitioning) -> DataStream:
        return self._add(
            PartitionTransformation(
                name=f"Partition({partitioning.kind.value})",
                input=self._transformation,
                partitioning=partitioning,
                output_type=self._transformation.output_type,
                created_at=call_site(),
            )
        )

    def _require_same_environment(self, other: DataStream, operator: str) -> None:
        if other._env is not self._env:
            raise ProgramError(
                "The streams belong to different environments.",
                operator=operator,
                hint="build the whole program on one StreamExecutionEnvironment",
            )
