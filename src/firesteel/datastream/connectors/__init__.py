"""Sources and sinks (PyFlink: ``pyflink.datastream.connectors``).

Connectors from other packages are imported from here by their names, see ``firesteel.connectors.plugins``.
"""

from __future__ import annotations

from typing import Any

from firesteel.connectors.files.builders_options import BucketAssigner, OutputFileConfig, RollingPolicy
from firesteel.connectors.files.builders_sink import FileSink, StreamingFileSink
from firesteel.connectors.files.builders_source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)
from firesteel.connectors.generated.builders_datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.connectors.generated.builders_sequence import NumberSequenceSource
from firesteel.connectors.plugins import is_added_connector, load_connector
from firesteel.program.connector_wrappers import (
    DeliveryGuarantee,
    SinkWrapper as Sink,
    SourceWrapper as Source,
)

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
    if name.startswith("_") or not is_added_connector(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_connector(name)
