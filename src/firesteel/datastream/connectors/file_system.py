"""Files as sources and sinks (PyFlink: ``pyflink.datastream.connectors.file_system``)."""

from __future__ import annotations

from firesteel.connectors.files.builders_options import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from firesteel.connectors.files.builders_sink import FileSink, StreamingFileSink
from firesteel.connectors.files.builders_source import (
    BulkFormat,
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)
from firesteel.connectors.files.partition_commit import PartitionCommit, PartitionContext

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
