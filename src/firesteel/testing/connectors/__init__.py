"""The contract that a source or a sink keeps, as tests for connectors of one's own.

Derive a test class from ``SourceContract`` or ``SinkContract`` and say in two methods what the connector is;
pytest finds the rest. See ``docs/connectors.md``.
"""

from __future__ import annotations

from firesteel.program.promises import SinkPromise
from firesteel.testing.connectors._reading import (
    SourceRun,
    check_source,
    chunks_of,
    read_split,
)
from firesteel.testing.connectors._sink_contract import SinkContract
from firesteel.testing.connectors._source_contract import SourceContract
from firesteel.testing.connectors._writing import SinkRun, check_sink
from firesteel.testing.connectors.kill_points import KILL_POINTS, KillPoint, die_at

__all__ = [
    "KILL_POINTS",
    "KillPoint",
    "SinkContract",
    "SinkPromise",
    "SinkRun",
    "SourceContract",
    "SourceRun",
    "check_sink",
    "check_source",
    "chunks_of",
    "die_at",
    "read_split",
]
