"""State as data: savepoints and checkpoints as Spark DataFrames, and back (Flink: State Processor API)."""

from __future__ import annotations

from firesteel.state_processor._functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from firesteel.state_processor._identifier import OperatorIdentifier
from firesteel.state_processor._reader import SavepointReader, StateInfo, WindowSavepointReader, read
from firesteel.state_processor._transformation import (
    KeyedOperatorTransformation,
    OneInputTransformation,
    OperatorTransformation,
    StateBootstrapTransformation,
    WindowedOperatorTransformation,
)
from firesteel.state_processor._writer import SavepointWriter

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedOperatorTransformation",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OneInputTransformation",
    "OperatorIdentifier",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
    "StateBootstrapFunction",
    "StateBootstrapTransformation",
    "StateInfo",
    "WindowReaderFunction",
    "WindowSavepointReader",
    "WindowedOperatorTransformation",
    "read",
]
