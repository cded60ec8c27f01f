"""The connector interface: what a source and a sink must provide to the engine."""

from __future__ import annotations

from firesteel.program.bad_records import BadRecord
from firesteel.program.sinks import (
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    ElementContext,
    Sink,
    SinkWriter,
    SupportsWriterState,
    WriterContext,
)
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
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
