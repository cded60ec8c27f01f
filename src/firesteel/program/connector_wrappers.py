"""The base classes of sources and sinks as programs see them.

A connector of your own derives from the classes of ``firesteel.connectors`` and is passed to
``from_source`` and ``sink_to`` as it is.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.typeinfo import TypeInformation
from firesteel.program import sources as base
from firesteel.program.checks import WrongArgumentError


class DeliveryGuarantee(Enum):
    """How often a record may reach the outside after a failure (Flink: ``DeliveryGuarantee``)."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class SourceWrapper:
    """A source for ``from_source``. ``produced_type``: the type of its records, if it is known."""

    produced_type: TypeInformation | None = None

    def __init__(self, source: base.Source) -> None:
        self.wrapped_source = _checked(source, base.Source, "source")


class SinkWrapper:
    """A sink for ``sink_to``."""

    def __init__(self, sink: base.Sink) -> None:
        self._sink = _checked(sink, base.Sink, "sink")

    def sink_for(self, type_info: TypeInformation | None) -> base.Sink:
        """The sink for a stream of this type."""
        sink: base.Sink = self._sink
        return sink


def _checked(connector: Any, kind: type, what: str) -> Any:
    if isinstance(connector, kind):
        return connector
    if isinstance(connector, str):
        raise UnsupportedFeatureError(
            f"A {what} written in Java cannot be used.",
            detail=f"got {connector!r}",
            hint=f"derive a class from firesteel.connectors.{what.capitalize()}",
        )
    raise WrongArgumentError(
        f"Not a {what}.",
        detail=f"got {connector!r}",
        hint=f"pass an object of a class derived from firesteel.connectors.{what.capitalize()}",
    )
