"""A job from Kafka to Kafka goes on from a savepoint of an earlier release: no record is read again, none is
missed, and sums go on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.servers.kafka.broker import KafkaBroker
from tests.servers.kafka.programs.kept import (
    AFTER,
    BEFORE,
    DATA,
    fill,
    make_topics,
    shown,
    start,
    sums,
)
from tests.waiting import until

KEPT = sorted(path.name for path in DATA.glob("kafka-*"))


@pytest.mark.parametrize("name", KEPT)
def test_a_job_goes_on_from_a_savepoint_of_an_earlier_release(
    kafka_broker: KafkaBroker, tmp_path: Path, name: str
) -> None:
    make_topics(kafka_broker, name)
    fill(kafka_broker, name, BEFORE)
    client = start(kafka_broker, name, tmp_path, begin=DATA / name)
    fill(kafka_broker, name, AFTER)
    lines = sum(map(len, AFTER.values()))
    until(lambda: len(kafka_broker.values(f"{name}-out")) >= lines, "not all has come out")
    client.stop_with_savepoint(False, f"file://{tmp_path}/savepoint").result()
    counts = Counter(line.split()[0] for part in AFTER.values() for line in part)
    totals = {key: n for key, n in sums(BEFORE, AFTER).items() if key.endswith(" in all")}
    assert shown(kafka_broker.values(f"{name}-out")) == counts + Counter(totals)
