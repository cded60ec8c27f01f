"""Queues of AWS SQS as a sink (Flink's Java connector ``flink-connector-sqs``); needs the extra
``kinesis``."""

from __future__ import annotations

from firesteel.connectors.aws.builders_sinks import SqsSink, SqsSinkBuilder

__all__ = ["SqsSink", "SqsSinkBuilder"]
