"""Files as sources and sinks (PyFlink: ``pyflink.datastream.connectors.file_system``)."""

from __future__ import annotations

from firesteel.connectors.file_sink import PartitionCommit, PartitionContext
from firesteel.datastream.connectors._file_sink import FileSink, StreamingFileSink
from firesteel.datastream.connectors._file_sink_options import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from firesteel.datastream.connectors._file_source import (
    BulkFormat,
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartitionCommit",
    "PartitionContext",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
