"""Sinks: writers, encoders, the text of records."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from firesteel.common.serialization import Encoder
from firesteel.common.types import Row
from firesteel.connectors import ElementContext, Sink, SinkWriter, SupportsWriterState, WriterContext
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink
from firesteel.datastream.functions import SinkFunction

from .core import PLACES, numbers, place, slip


class SlippingWriter(SinkWriter):
    def __init__(self, where: str) -> None:
        self.where = where

    def _at(self, where: str) -> None:
        if self.where == where:
            slip()

    def write(self, element: Any, context: ElementContext) -> None:
        self._at("write")

    def flush(self, end_of_input: bool) -> None:
        self._at("flush")

    def prepare_commit(self) -> list[Any]:
        self._at("prepare_commit")
        return []

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        self._at("snapshot_state")
        return []

    def close(self) -> None:
        self._at("close")


@dataclass(frozen=True)
class SlippingSink(SupportsWriterState, Sink):
    where: str

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self.where == "create":
            slip()
        return SlippingWriter(self.where)

    def restore_writer(self, context: WriterContext, recovered_state: Iterable[Any]) -> SinkWriter:
        return self.create_writer(context)


def sunk(env: StreamExecutionEnvironment, sink: Any) -> DataStream:
    stream = numbers(env)
    stream.sink_to(sink).name("here")
    return stream


for _where in ("create", "write", "flush", "prepare_commit", "snapshot_state", "close"):
    PLACES[f"writer_{_where}"] = lambda env, w=_where: sunk(env, SlippingSink(w))  # type: ignore[misc]


class OldSink(SinkFunction):
    def invoke(self, value: Any, context: Any = None) -> None:
        slip(value)


@place
def sink_function(env: StreamExecutionEnvironment) -> DataStream:
    stream = numbers(env)
    stream.add_sink(OldSink()).name("here")
    return stream


class Shown:
    def __str__(self) -> str:
        return str(slip("shown"))

    __repr__ = __str__


@place
def text_of_a_record(env: StreamExecutionEnvironment) -> DataStream:
    stream = numbers(env)
    stream.map(lambda v: Shown()).print().name("here")
    return stream


@place
def text_of_a_field(env: StreamExecutionEnvironment) -> DataStream:
    stream = numbers(env)
    stream.map(lambda v: Row(1, Shown())).print().name("here")
    return stream


class SlippingEncoder(Encoder):
    def encode(self, element: Any) -> bytes:
        return bytes(slip(b"line\n"))


class SlippingBuckets(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return str(slip("bucket"))


@place
def encoder_of_files(env: StreamExecutionEnvironment) -> DataStream:
    directory = tempfile.mkdtemp(prefix="faults-")
    return sunk(env, FileSink.for_row_format(directory, SlippingEncoder()).build())


@place
def bucket_assigner(env: StreamExecutionEnvironment) -> DataStream:
    directory = tempfile.mkdtemp(prefix="faults-")
    sink = FileSink.for_row_format(directory, Encoder.simple_string_encoder())
    return sunk(env, sink.with_bucket_assigner(SlippingBuckets()).build())
