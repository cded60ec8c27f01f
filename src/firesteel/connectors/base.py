"""The connector interface: what a source and a sink must offer the engine."""

from __future__ import annotations

from firesteel.program.sources import (
    BadRecord,
    Boundedness,
    Chunk,
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    ElementContext,
    EnumeratorContext,
    ReadRange,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
    SupportsWriterState,
    WriterContext,
)

__all__ = [
    "BadRecord",
    "Boundedness",
    "Chunk",
    "CommitRequest",
    "Committable",
    "Committer",
    "CommitterContext",
    "ElementContext",
    "EnumeratorContext",
    "ReadRange",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceReader",
    "Split",
    "SplitEnumerator",
    "SupportsWriterState",
    "WriterContext",
]
