"""Kafka to keyed windows to Kafka, exactly once, while a worker and an executor are killed. Drivers and the
broker are in ``test_killed_drivers.py``, without Spark; ``make soak`` is the long form."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.budget import seed_of
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.kills import kill_each

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


@pytest.mark.row("S-CONN-02")
def test_every_result_is_there_once(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    seed = seed_of("worker and executor")
    print(f"seed {seed}")  # shown when it fails
    kill_each(kafka_broker, tmp_path, ["worker", "executor"], random.Random(seed))
