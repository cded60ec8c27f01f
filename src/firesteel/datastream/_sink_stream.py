"""The ends of a program: sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.print_sink import PrintSink
from firesteel.connectors.spark_sink import ParquetStagingSink, SparkTableSink
from firesteel.datastream._settings import OperatorSettings
from firesteel.program.call_site import call_site
from firesteel.program.checks import WrongArgumentError, check_picklable, require_text
from firesteel.program.execution import get_executor
from firesteel.program.functions.legacy_connectors import SinkFunction, unwrap_sink
from firesteel.program.pickling import Shipped
from firesteel.program.sinks import Sink
from firesteel.program.spark_tables import SparkTarget, refuse_unbounded
from firesteel.program.transformations import SinkTransformation, Transformation

if TYPE_CHECKING:
    import pyarrow as pa

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
            "or derive your own from firesteel.connectors.Sink",
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


def to_spark(env: StreamExecutionEnvironment, stream: Transformation) -> Any:
    """Run the program and return the records of ``stream`` as a DataFrame of Spark."""
    declared = stream.output_type
    if declared is None:
        raise ProgramError(
            "to_spark needs the type of the records",
            operator=stream.name,
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])) or Types.TUPLE([...])",
        )

    refuse_unbounded(stream)

    def attach(directory: str) -> pa.Schema:
        sink = ParquetStagingSink(directory, declared)
        env._add(SinkTransformation(name="to_spark", input=stream, sink=sink))
        return sink.schema()

    return get_executor().to_spark(env, attach)


_Target = tuple[Any, str | None, str | None, dict[str, Any], bool]
_BY_DIRECTORY: Final = frozenset({"parquet", "orc", "json", "csv", "avro", "text", "xml"})


def write_spark(env: StreamExecutionEnvironment, stream: Transformation, wanted: _Target) -> DataStreamSink:
    """Append ``stream`` to a table that Spark writes: format, path, table, options, at least once."""
    format_, path, table, options, at_least_once = wanted
    reason = None
    if not isinstance(format_, str):
        if not callable(format_):
            reason = f"the format is neither text nor a function: {format_!r}"
        elif path is not None or table is not None or options or at_least_once:
            reason = "a function knows itself where it writes, and how"
    elif path is not None and table is not None:
        reason = "it is given a path and a table"
    elif format_ == "delta" and path is None and table is None:
        reason = f"{format_} needs a path or a table"
    elif not at_least_once and format_ in _BY_DIRECTORY and path is None:
        reason = f"{format_} needs a path: each batch is a directory below it"
    elif not at_least_once and format_ not in ("delta", *_BY_DIRECTORY):
        reason = f"{format_} cannot tell a batch that comes again from a new one: set at_least_once=True"
    if reason is not None:
        raise WrongArgumentError("write_spark() cannot write that.", operator=stream.name, detail=reason)
    if isinstance(format_, str):
        target = SparkTarget(format_, path, table, _texts(options), at_least_once)
    else:
        target = SparkTarget(Shipped(format_))
    return _add(env, stream, SparkTableSink(target, cast(TypeInformation, stream.output_type)), "Spark table")


def _texts(options: dict[str, Any]) -> dict[str, str]:
    return {key: str(v).lower() if isinstance(v, bool) else str(v) for key, v in options.items()}


def _add(env: StreamExecutionEnvironment, stream: Transformation, sink: Sink, name: str) -> DataStreamSink:
    check_picklable(sink, name)
    transformation = SinkTransformation(name=name, input=stream, sink=sink, created_at=call_site())
    env._add(transformation)
    return DataStreamSink(env, transformation)
