"""What all parts of the API share: types, rows, time, watermark strategies, configuration, job handles."""

from __future__ import annotations

import importlib
from typing import Any

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.config_options import ConfigOption, ConfigOptions
from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.input_dependency_constraint import InputDependencyConstraint
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from firesteel.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from firesteel.common.serializer import TypeSerializer
from firesteel.common.time import Duration, Instant, Time
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row, RowKind
from firesteel.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    IngestionTimeAssigner,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "FiresteelError",
    "IngestionTimeAssigner",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

# PyFlink offers its row formats under ``pyflink.common`` too. They belong to a higher layer, so they are
# looked up when a program asks for them.
_FORMATS = {
    f"{name}Row{direction}Schema": f"firesteel.datastream.formats.{name.lower()}"
    for name in ("Json", "Csv", "Avro")
    for direction in ("Serialization", "Deserialization")
}


def __getattr__(name: str) -> Any:
    if name in _FORMATS:
        return getattr(importlib.import_module(_FORMATS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
