"""Drivers that are killed at every point of a commit to Kafka, and a broker that dies meanwhile: each result
is there once (``make soak`` is the long form)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.budget import seed_of
from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.kills import DyingJob, die_with_the_broker
from tests.servers.kafka.programs.killed import POINTS

_DEATHS = 3


@pytest.mark.row("S-CONN-02")
def test_a_driver_dies_at_each_point_in_turn(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    job = DyingJob(kafka_broker, tmp_path)
    passed = [point for point in POINTS if job.run(point, 1) == 0]
    assert passed == [], "the points were passed by"
    assert job.run() == 0
    job.compare()


def test_drivers_and_the_broker_die_at_random(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    seed = seed_of("drivers and the broker")
    print(f"seed {seed}")  # shown when it fails
    die_with_the_broker(kafka_broker, tmp_path, _DEATHS, random.Random(seed))
