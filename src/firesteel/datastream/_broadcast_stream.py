"""A stream that every subtask sees whole, and what it is connected to."""

from __future__ import annotations

from typing import Any, NoReturn

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.datastream._checks import WrongArgumentError
from firesteel.datastream._data_stream import DataStream, OutputType
from firesteel.datastream._keyed_stream import KeyedStream
from firesteel.datastream._process_functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.datastream._state_descriptors import MapStateDescriptor


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
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: OutputType = None,
    ) -> NoReturn:
        keyed = isinstance(self.non_broadcast_stream, KeyedStream)
        name = "Keyed-Co-Process-Broadcast" if keyed else "Co-Process-Broadcast"
        raise UnsupportedFeatureError(
            "Broadcast state is not available.",
            operator=name,
            hint="broadcast() the stream without descriptors and connect() it: a CoProcessFunction sees "
            "every broadcast record in every subtask and may keep it in self",
        )
