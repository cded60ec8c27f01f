"""The base classes of sources and sinks as programs see them.

A connector of your own derives from the classes of ``firesteel.connectors`` and is passed to
``from_source`` and ``sink_to`` as it is."""

from __future__ import annotations

from firesteel.program.connector_wrappers import (
    DeliveryGuarantee,
    SinkWrapper as Sink,
    SourceWrapper as Source,
)
from firesteel.program.sink_wrappers import StreamTransformer, SupportsPreprocessing

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]
