"""Kinesis and Firehose of AWS (PyFlink: ``pyflink.datastream.connectors.kinesis``); needs the extra
``kinesis``."""

from __future__ import annotations

from firesteel.connectors.aws.records import KinesisDeserializationSchema
from firesteel.connectors.aws.sinks import PartitionKeyGenerator
from firesteel.datastream.connectors._aws_sinks import (
    KinesisFirehoseSink,
    KinesisFirehoseSinkBuilder,
    KinesisStreamsSink,
    KinesisStreamsSinkBuilder,
)
from firesteel.datastream.connectors._kinesis_consumer import (
    FlinkKinesisConsumer,
    KinesisShardAssigner,
    WatermarkTracker,
)

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
