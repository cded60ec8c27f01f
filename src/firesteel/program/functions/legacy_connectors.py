"""The older source and sink functions, and how sources and sinks of all kinds are unwrapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.program.checks import WrongArgumentError
from firesteel.program.sinks import ElementContext, Sink, SinkWriter, WriterContext
from firesteel.program.sources import Source


class SourceFunction:
    """A source for ``add_source`` (Flink removed its kind; PyFlink wraps a Java object).

    :param source_func: a source of ``firesteel.connectors`` or your own, derived from
        ``firesteel.connectors.Source``.
    """

    #: How its records get timestamps and watermarks, where the function says it itself.
    watermark_strategy: WatermarkStrategy | None = None

    def __init__(self, source_func: Any) -> None:
        source = unwrap_source(source_func)
        if isinstance(source, str):
            raise _java_refused("source", source)
        if not isinstance(source, Source):
            raise WrongArgumentError(
                "A SourceFunction wraps a source.",
                detail=f"got {source_func!r}",
                hint="derive a class from firesteel.connectors.Source",
            )
        self.source = source


class SinkFunction:
    """A sink for ``add_sink`` that gets records one by one, at least once (Flink: legacy ``SinkFunction``).

    A subclass defines ``invoke``; its ``open`` and ``close`` frame each epoch of a subtask.

    :param sink_func: a sink of ``firesteel.connectors`` to wrap, in place of a subclass.
    """

    Context: TypeAlias = ElementContext

    def __init__(self, sink_func: Any = None) -> None:
        if isinstance(sink_func, str):
            raise _java_refused("sink", sink_func)
        self._wrapped = sink_func

    def open(self) -> None:
        """Prepare: open a connection."""

    def close(self) -> None:
        """Flush and let go of what ``open`` took."""

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        """Take one record."""
        raise WrongArgumentError(
            "A SinkFunction needs an invoke method.",
            operator=type(self).__name__,
            hint="define invoke(self, value, context) in your subclass",
        )

    def to_sink(self, type_info: TypeInformation | None) -> Sink:
        """Return the sink for a stream of this type."""
        wrapped = unwrap_sink(getattr(self, "_wrapped", None), type_info)
        if isinstance(wrapped, Sink):
            return wrapped
        if wrapped is not None or type(self).invoke is SinkFunction.invoke:
            raise WrongArgumentError(
                "A SinkFunction wraps a sink, or is a subclass with an invoke method.",
                operator=type(self).__name__,
                detail=f"it wraps {wrapped!r}",
                hint="define invoke(self, value, context), or pass the sink to sink_to()",
            )
        return FunctionSink(self)


@dataclass(frozen=True, slots=True)
class FunctionSink(Sink):
    """Hands records to a SinkFunction. At least once: what an epoch handed over is not taken back."""

    function: SinkFunction

    @property
    def description(self) -> str:
        return type(self.function).__name__

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _FunctionWriter(self.function)


class _FunctionWriter(SinkWriter):
    def __init__(self, function: SinkFunction) -> None:
        self._function = function
        function.open()

    def write(self, element: Any, context: ElementContext) -> None:  # hot
        self._function.invoke(element, context)

    def close(self) -> None:
        self._function.close()

    def abort(self) -> None:
        self._function.close()


def unwrap_source(source: Any) -> Any:
    """The source behind the builders of ``firesteel.datastream.connectors``, or ``source`` itself."""
    return getattr(source, "wrapped_source", source)


def unwrap_sink(sink: Any, type_info: TypeInformation | None) -> Any:
    """The sink that the builders of ``firesteel.datastream.connectors`` make for a stream of this type, or
    ``sink`` itself."""
    make = getattr(sink, "sink_for", None)
    return sink if make is None else make(type_info)


def produced_type(source: Any) -> TypeInformation | None:
    """The type that a source says its records have; None when it says nothing."""
    for candidate in (source, unwrap_source(source)):
        type_info = getattr(candidate, "produced_type", None)
        if isinstance(type_info, TypeInformation):
            return type_info
    return None


def _java_refused(what: str, name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"A {what} written in Java cannot be used.",
        detail=f"got {name!r}",
        hint=f"derive a class from firesteel.connectors.{what.capitalize()}, or use one of "
        "firesteel.datastream.connectors",
    )
