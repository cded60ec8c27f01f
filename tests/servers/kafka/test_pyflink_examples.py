"""The Kafka examples in PyFlink's wheel, unchanged but for the port of the broker."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.servers.kafka.broker import KafkaBroker
from tests.spark.support import firesteel, run, started
from tests.spark.test_examples import examples

__all__ = ["examples"]  # the fixture

ROOT = Path(__file__).parents[3]
GREETINGS = ["hi", "hello", "hi", "hello", "hi", "hello", "hello"]
ROWS = [f"+I[{n},{greeting}]" for n, greeting in zip([1, 2, 3, 4, 5, 6, 6], GREETINGS, strict=True)]
PRINTED = {
    "kafka_json_format": ("test_json_topic", ROWS),
    "kafka_csv_format": ("test_csv_topic", ROWS),
    "kafka_bytearray_format": (
        "test_bytearray_topic",
        [f'{{"id": {n}, "country": "{c}"}}' for n, c in enumerate(["USA", "Canada", "Germany"], 1)],
    ),
}


def adapted(examples: Path, name: str, broker: KafkaBroker, directory: Path) -> Path:
    text = (examples / "connectors" / f"{name}.py").read_text()
    assert "localhost:9092" in text
    program = directory / f"{name}.py"
    program.write_text(text.replace("localhost:9092", broker.address))
    return program


def read_back(command: list[str], directory: Path, expected: list[str]) -> None:
    """The job never ends by itself."""
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    with started(command, directory, paths) as program:

        def is_there(lines: list[str]) -> bool:
            found = [line.partition("> ")[2] or line for line in lines]
            return sorted(line for line in found if line in expected) == sorted(expected)

        program.wait_for(is_there, 150)
        program.signal_group(signal.SIGKILL)
        program.end()


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_writes_and_reads(
    kafka_broker: KafkaBroker, examples: Path, name: str, tmp_path: Path
) -> None:
    topic, expected = PRINTED[name]
    kafka_broker.topic(1, topic)
    program = adapted(examples, name, kafka_broker, tmp_path)
    read_back([sys.executable, "-m", "tests.servers.kafka.programs.example", str(program)], ROOT, expected)


def test_the_example_of_keys(kafka_broker: KafkaBroker, examples: Path, tmp_path: Path) -> None:
    kafka_broker.topic(3, "row-extractor-example")
    program = adapted(examples, "kafka_row_field_extractor_example", kafka_broker, tmp_path)
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = run([sys.executable, "-m", "tests.servers.kafka.programs.example", str(program)], ROOT, paths)
    assert done.code == 0, done.err
    keys = [message.key() for message in kafka_broker.messages("row-extractor-example")]
    assert sorted(keys) == [b"user-001", b"user-001", b"user-002", b"user-003"]


@pytest.mark.spark
def test_an_example_on_spark(kafka_broker: KafkaBroker, examples: Path, tmp_path: Path) -> None:
    """The topic may have the records of the test above: the source reads all of it."""
    topic, expected = PRINTED["kafka_json_format"]
    if topic not in kafka_broker.admin.list_topics(timeout=10).topics:
        kafka_broker.topic(1, topic)
    written_before = len(kafka_broker.messages(topic)) // len(expected)
    program = adapted(examples, "kafka_json_format", kafka_broker, tmp_path)
    read_back(firesteel("run", "--pyflink", program), tmp_path, expected * (written_before + 1))
