"""Queues of RabbitMQ (PyFlink: ``pyflink.datastream.connectors.rabbitmq``)."""

from __future__ import annotations

from firesteel.connectors.rabbitmq.builders import RMQConnectionConfig, RMQSink, RMQSource

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]
