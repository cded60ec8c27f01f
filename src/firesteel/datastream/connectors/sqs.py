"""Queues of AWS SQS as a sink (Flink's Java connector ``flink-connector-sqs``); needs the extra
``kinesis``."""

from __future__ import annotations

from firesteel.datastream.connectors._aws_sinks import SqsSink, SqsSinkBuilder

__all__ = ["SqsSink", "SqsSinkBuilder"]
