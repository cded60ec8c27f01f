"""Kinesis and Firehose of AWS (PyFlink: ``pyflink.datastream.connectors.kinesis``); needs the extra
``kinesis``."""

from __future__ import annotations

from firesteel.connectors.aws.builders_kinesis import (
    FlinkKinesisConsumer,
    KinesisShardAssigner,
    WatermarkTracker,
)
from firesteel.connectors.aws.builders_sinks import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
)
from firesteel.connectors.aws.records import KinesisDeserializationSchema
from firesteel.connectors.aws.sinks import PartitionKeyGenerator

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]
