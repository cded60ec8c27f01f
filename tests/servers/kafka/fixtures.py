"""The fixture ``kafka_broker``, for the packages whose tests need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.kafka.broker import KafkaBroker


@pytest.fixture(scope="package")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One broker for all tests of the package: each test takes topics of its own."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka")).start()
    yield broker
    broker.stop()
