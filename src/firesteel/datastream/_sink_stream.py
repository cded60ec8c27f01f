"""The ends of a program: sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.connectors.base import Sink
from firesteel.connectors.print_sink import PrintSink
from firesteel.datastream._call_site import call_site
from firesteel.datastream._checks import WrongArgumentError, check_picklable, require_text
from firesteel.datastream._legacy_connectors import SinkFunction, unwrap_sink
from firesteel.datastream._settings import OperatorSettings
from firesteel.datastream._transformations import SinkTransformation, Transformation

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class DataStreamSink(OperatorSettings):
    """A sink of a stream, to be named and set up (Flink: ``DataStreamSink``)."""

    _kind: ClassVar[str] = "sink"

    def __init__(self, environment: StreamExecutionEnvironment, transformation: SinkTransformation) -> None:
        self._env = environment
        self._transformation = transformation


def sink_to(env: StreamExecutionEnvironment, stream: Transformation, sink: Any) -> DataStreamSink:
    """Add ``sink`` to ``stream``."""
    found = unwrap_sink(sink, stream.output_type)
    if not isinstance(found, Sink):
        raise WrongArgumentError(
            "sink_to() takes a sink.",
            operator=stream.name,
            detail=f"got {sink!r}",
            hint="build one of firesteel.datastream.connectors, such as FileSink, with its build() method, "
            "or derive your own from firesteel.connectors.base.Sink",
        )
    return _add(env, stream, found, "Writer")


def print_sink(
    env: StreamExecutionEnvironment, stream: Transformation, identifier: str | None
) -> DataStreamSink:
    """Print ``stream`` to standard output."""
    if identifier is not None:
        require_text(identifier, "sink identifier", "print")
    sink = PrintSink(stream.output_type, identifier or "")
    return _add(env, stream, sink, "Print to Std. Out")


def add_sink(env: StreamExecutionEnvironment, stream: Transformation, function: Any) -> DataStreamSink:
    """Hand the records of ``stream`` to a SinkFunction."""
    if not isinstance(function, SinkFunction):
        raise WrongArgumentError(
            "add_sink() takes a SinkFunction.",
            operator=stream.name,
            detail=f"got {function!r}",
            hint="derive a class from SinkFunction and define invoke(self, value, context)",
        )
    return _add(env, stream, function.to_sink(stream.output_type), "Unnamed")


def _add(env: StreamExecutionEnvironment, stream: Transformation, sink: Sink, name: str) -> DataStreamSink:
    check_picklable(sink, name)
    transformation = SinkTransformation(name=name, input=stream, sink=sink, created_at=call_site())
    env._add(transformation)
    return DataStreamSink(env, transformation)
