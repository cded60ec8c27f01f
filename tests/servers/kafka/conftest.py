"""What the tests of Kafka share."""

from __future__ import annotations

from tests.servers.fixtures import platform
from tests.servers.kafka.fixtures import kafka_broker

__all__ = ["kafka_broker", "platform"]
