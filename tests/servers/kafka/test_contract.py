"""Kafka keeps the contract of sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.connectors import _subtask_commits
from firesteel.connectors.kafka.transactions import SubtaskCommit, Transaction
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import KafkaOffsetsInitializer
from firesteel.testing.connectors import KillPoint, SinkContract, SinkPromise, SourceContract
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.support import reading, writing


class _Reading(SourceContract):
    @pytest.fixture(autouse=True)
    def topic(self, kafka_broker: KafkaBroker) -> None:
        self.broker = kafka_broker
        self.name = kafka_broker.topic(3)

    def produce(self, directory: Path, portion: int) -> list[Any]:
        """In transactions, one of which is aborted; with portion 2 a partition comes up."""
        if portion == 2:
            self.broker.add_partitions(self.name, 4)
        made = []
        for partition in range(4 if portion >= 2 else 3):
            values = [f"{portion}-{partition}-{n}" for n in range(40)]
            self.broker.produce_transaction(self.name, values, partition=partition)
            self.broker.produce_transaction(self.name, ["aborted"] * 3, commit=False, partition=partition)
            made += values
        return made


@pytest.mark.row("S-CONN-01")
class TestBounded(_Reading):
    def make_source(self, directory: Path) -> Any:
        return reading(self.broker, self.name).set_bounded(KafkaOffsetsInitializer.latest()).build()


@pytest.mark.row("S-CONN-01")
class TestUnbounded(_Reading):
    def make_source(self, directory: Path) -> Any:
        return reading(self.broker, self.name, partition_discovery_interval_ms="10").build()


class _Writing(SinkContract):
    type_info = Types.STRING()
    guarantee: DeliveryGuarantee

    @pytest.fixture(autouse=True)
    def topic(self, kafka_broker: KafkaBroker) -> None:
        self.broker = kafka_broker
        self.name = kafka_broker.topic(2)

    def make_sink(self, directory: Path) -> Any:
        return writing(self.broker, self.name, self.guarantee, f"contract-{self.name}")

    def read(self, directory: Path) -> list[Any]:
        return self.broker.values(self.name)


@pytest.mark.row("S-CONN-02", "S-SINK-08")
class TestExactlyOnce(_Writing):
    guarantee = DeliveryGuarantee.EXACTLY_ONCE

    def kill_points(self) -> Mapping[str, KillPoint]:
        return {
            "before the transaction of a subtask": KillPoint(SubtaskCommit, "__call__", True),
            "after the transaction of a subtask": KillPoint(Transaction, "__call__", False),
        }


class TestExactlyOnceByTasks(TestExactlyOnce):
    """As it does what is not little; drivers die in the class above."""

    test_a_job_whose_drivers_are_killed = None  # type: ignore[assignment]

    @pytest.fixture(autouse=True)
    def nothing_is_little(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_subtask_commits, "SMALL_BYTES", 0)


@pytest.mark.row("S-CONN-02", "S-SINK-08")
class TestAtLeastOnce(_Writing):
    guarantee = DeliveryGuarantee.AT_LEAST_ONCE
    promise = SinkPromise.AT_LEAST_ONCE
