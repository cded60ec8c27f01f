"""A stream that every subtask sees whole, and what it is connected to."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.program import operators as ops
from firesteel.program.call_site import call_site
from firesteel.program.checks import (
    WrongArgumentError,
    check_picklable,
    require_function,
    to_type_information,
)
from firesteel.program.functions.process import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.program.state.descriptors import MapStateDescriptor
from firesteel.program.transformations import TwoInputTransformation


class BroadcastStream:
    """A broadcast stream with the state that it writes (Flink: ``BroadcastStream``)."""

    def __init__(
        self, input_stream: DataStream, broadcast_state_descriptors: list[MapStateDescriptor]
    ) -> None:
        for descriptor in broadcast_state_descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise WrongArgumentError(
                    "Broadcast state is described by a MapStateDescriptor.",
                    operator="broadcast",
                    detail=f"got {descriptor!r}",
                )
            if descriptor.ttl_config is not None:
                raise UnsupportedFeatureError(
                    f"Broadcast state {descriptor.name!r} cannot have a time to live.",
                    operator="broadcast",
                    hint="remove entries in process_broadcast_element(), for example when one says so",
                )
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors


class BroadcastConnectedStream:
    """A stream that is connected to a broadcast stream (Flink: ``BroadcastConnectedStream``)."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: list[MapStateDescriptor],
    ) -> None:
        non_broadcast_stream._require_same_environment(broadcast_stream.input_stream, "connect")
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: OutputType = None,
    ) -> DataStream:
        """``process_element`` for the stream, ``process_broadcast_element`` for the broadcast stream.

        A keyed stream takes a KeyedBroadcastProcessFunction, any other one a BroadcastProcessFunction. In
        BATCH mode the broadcast stream is read to its end first.
        """
        states = tuple(self.broadcast_state_descriptors)
        stream = self.non_broadcast_stream
        spec: ops.OperatorSpec
        if isinstance(stream, KeyedStream):
            name, spec = "Keyed-Co-Process-Broadcast", ops.KeyedBroadcastProcess(func, states)
            hint = "a BroadcastProcessFunction should be applied to a stream that is not keyed"
            require_function(func, KeyedBroadcastProcessFunction, name, hint)
        else:
            name, spec = "Co-Process-Broadcast", ops.BroadcastProcess(func, states)
            hint = "a KeyedBroadcastProcessFunction should be applied to a keyed stream: call key_by() before"
            require_function(func, BroadcastProcessFunction, name, hint)
        return self._transform(name, spec, output_type)

    def _transform(self, name: str, spec: ops.OperatorSpec, output_type: OutputType) -> DataStream:
        """An operator of any kind whose second input is broadcast."""
        check_picklable(spec, name)
        stream = self.non_broadcast_stream
        transformation = TwoInputTransformation(
            name=name,
            input1=stream._transformation,
            input2=self.broadcast_stream.input_stream._transformation,
            operator=spec,
            output_type=to_type_information(output_type, "output_type", name),
            created_at=call_site(),
        )
        if isinstance(stream, KeyedStream):
            transformation.key_selector1 = stream._partitioning.key_selector
            transformation.key_type = stream._partitioning.key_type
        return stream._add(transformation)
