"""For tests of programs: an operator harness, a mini cluster, scripted sources and a clock set by hand.

See ``docs/testing.md``.
"""

from __future__ import annotations

from firesteel.common.clock import ManualClock
from firesteel.state.reader import Timer
from firesteel.testing._io import HarnessInput
from firesteel.testing._snapshot import Snapshot
from firesteel.testing.collecting_sink import CollectingSink
from firesteel.testing.events import END_OF_TIME, Event, StreamRecord, Watermark, WatermarkStatus
from firesteel.testing.harness import OperatorHarness
from firesteel.testing.mini_cluster import MiniCluster
from firesteel.testing.pattern_tester import PartialMatch, PatternTester
from firesteel.testing.scripted_source import ScriptedSource, WaitUntil

__all__ = [
    "END_OF_TIME",
    "CollectingSink",
    "Event",
    "HarnessInput",
    "ManualClock",
    "MiniCluster",
    "OperatorHarness",
    "PartialMatch",
    "PatternTester",
    "ScriptedSource",
    "Snapshot",
    "StreamRecord",
    "Timer",
    "WaitUntil",
    "Watermark",
    "WatermarkStatus",
]
