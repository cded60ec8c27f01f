"""Sources and sinks (PyFlink: ``pyflink.datastream.connectors``).

Connectors from other packages are imported from here by the name of their entry point, see
``firesteel.connectors.plugins``.
"""

from __future__ import annotations

from typing import Any

from firesteel.connectors.plugins import installed_connectors, load_connector
from firesteel.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream.connectors.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

__all__ = [
    "BucketAssigner",
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RateLimiterStrategy",
    "RollingPolicy",
    "Sink",
    "Source",
    "StreamFormat",
    "StreamingFileSink",
]


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in installed_connectors():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_connector(name)
