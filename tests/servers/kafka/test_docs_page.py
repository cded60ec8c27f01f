"""The programs of docs/kafka.md."""

from __future__ import annotations

import pytest

from docs.drawing.pages import DOCS, examples
from firesteel.testing import MiniCluster
from tests.servers.kafka.broker import KafkaBroker


def test_the_programs_print_what_their_page_says(
    kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    orders, streams = examples(DOCS / "kafka.md")  # the second reads what the first has written
    monkeypatch.setenv("KAFKA", kafka_broker.address)
    kafka_broker.topic(1, "orders")
    kafka_broker.topic(1, "bills")
    for example in (orders, streams):
        with MiniCluster.in_process():
            exec(compile(example.code, f"{example.name}.py", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out == example.output
    assert kafka_broker.values("bills") == (orders.output or "").splitlines()
