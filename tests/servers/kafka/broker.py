"""A real Kafka broker in a process of its own: one node in KRaft mode, on the loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec

from firesteel.connectors.kafka.client import ask_again
from tests import pausing
from tests.places import CACHE, fetched, free_port
from tests.waiting import patience

JARS = CACHE / "kafka-4.1.0"
USER, PASSWORD = "firesteel", "secret"
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},SASL://127.0.0.1:{sasl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=200
log.initial.task.delay.ms=200
log.retention.ms=-1
log.retention.check.interval.ms=1000
"""


class KafkaBroker:
    """``start`` and ``kill`` as often as a test likes: ports and data stay the same.

    :param port: None: any that is free.
    """

    def __init__(self, directory: Path, port: int | None = None, *, is_measured: bool = False) -> None:
        self._directory = directory
        self._is_measured = is_measured
        self._log = directory / "broker.log"
        ports = [port or free_port(), free_port(), free_port()]
        self.address = f"127.0.0.1:{ports[0]}"
        self.sasl_address = f"127.0.0.1:{ports[2]}"
        text = _PROPERTIES.format(
            plain=ports[0],
            controller=ports[1],
            sasl=ports[2],
            user=USER,
            password=PASSWORD,
            data=directory / "data",
        )
        (directory / "server.properties").write_text(text)
        self._process: subprocess.Popen[bytes] | None = None
        self._topics = 0

    # ---- the process

    def start(self) -> KafkaBroker:
        fetched(JARS)
        properties = str(self._directory / "server.properties")
        if not (self._directory / "data").exists():
            tool = [*_java(128), "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", properties]
            subprocess.run(tool, check=True, capture_output=True, timeout=patience(60))
        with self._log.open("ab") as log:
            command = [*_java(384, self._is_measured), "kafka.Kafka", properties]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self._await_ready()
        return self

    def _await_ready(self) -> None:
        assert self._process is not None
        host, port = self.address.split(":")
        deadline = time.monotonic() + patience(60)
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"Kafka does not start: {self._log.read_text()[-3000:]}")
            try:
                socket.create_connection((host, int(port)), 1).close()
                self.admin.list_topics(timeout=5)
                return
            except (OSError, KafkaException):
                time.sleep(0.2)

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nobody is told."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """The broker takes connections and answers nothing, until ``resume``."""
        assert self._process is not None
        pausing.pause(self._process.pid)

    def resume(self) -> None:
        assert self._process is not None
        pausing.resume(self._process.pid)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)

    # ---- what is in it

    @cached_property
    def admin(self) -> AdminClient:
        settings = {"bootstrap.servers": self.address, "log_level": 0, "reconnect.backoff.max.ms": 500}
        return AdminClient(settings)

    def topic(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        """A new topic; ``config``: with ``_`` for ``.``."""
        self._topics += 1
        name = name or f"topic-{self._topics}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        for done in self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values():
            done.result(patience(20))
        deadline = time.monotonic() + patience(20)
        while len(self.admin.list_topics(name, timeout=patience(60)).topics[name].partitions) < partitions:
            assert time.monotonic() < deadline, f"topic {name} does not appear"
        return name

    def add_partitions(self, topic: str, total: int) -> None:
        for done in self.admin.create_partitions([NewPartitions(topic, total)]).values():
            done.result(patience(20))

    def producer(self, **config: Any) -> Producer:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        return Producer({"bootstrap.servers": self.address, "log_level": 2, **settings})

    def produce(self, topic: str, values: Iterable[bytes | str], partition: int = 0, **message: Any) -> None:
        """``message``: further arguments of ``Producer.produce`` (key, timestamp, headers)."""
        producer = self.producer(linger_ms=5, enable_idempotence=True)  # in order, also after a retry
        for value in values:
            producer.produce(topic, value, partition=partition, **message)
            producer.poll(0)
        assert producer.flush(30) == 0

    def produce_transaction(
        self, topic: str, values: Sequence[str], *, commit: bool = True, partition: int = 0
    ) -> None:
        producer = self.producer(transactional_id="test-input")
        producer.init_transactions(20)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, value, partition)
        producer.flush(20)
        if commit:
            producer.commit_transaction(20)
        else:
            producer.abort_transaction(20)

    def end_offsets(self, topic: str) -> list[int]:
        partitions = sorted(self.admin.list_topics(topic, timeout=patience(60)).topics[topic].partitions)
        wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in partitions}
        asked = self.admin.list_offsets(wanted).items()
        answers = {place.partition: answer.result(patience(20)).offset for place, answer in asked}
        return [answers[p] for p in partitions]

    def messages(self, topic: str, *, committed: bool = True) -> list[Message]:
        """All that a consumer sees, partition by partition."""
        level = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": "test-reader",
                "isolation.level": level,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "log_level": 2,
            }
        )
        found: list[Message] = []
        partitions = sorted(self.admin.list_topics(topic, timeout=patience(60)).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        open_partitions = set(partitions)
        deadline = time.monotonic() + patience(30)
        while open_partitions:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    found.append(message)
                else:
                    open_partitions.discard(message.partition())
        consumer.close()
        return sorted(found, key=lambda m: (m.partition(), m.offset()))

    def values(self, topic: str, *, committed: bool = True) -> list[str]:
        return [message.value().decode() for message in self.messages(topic, committed=committed)]

    def committed_offset(self, group: str, topic: str, partition: int = 0) -> int:
        """-1001 when there is none."""
        place = [TopicPartition(topic, partition)]
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group, "log_level": 2})
        try:
            return int(ask_again(lambda: consumer.committed(place, timeout=patience(20)))[0].offset)
        finally:
            consumer.close()

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group, "log_level": 2})
        consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
        consumer.close()

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """What retention does: the partition begins at ``offset``."""
        for done in self.admin.delete_records([TopicPartition(topic, partition, offset)]).values():
            done.result(patience(20))

    def broker_config(self, name: str) -> str:
        resource = ConfigResource(ConfigResource.Type.BROKER, "1")
        answer = next(iter(self.admin.describe_configs([resource]).values())).result(patience(20))
        return str(answer[name].value)


def _java(megabytes: int, is_measured: bool = False) -> list[str]:
    """*is_measured*: it is to be fast later on, and not there soon."""
    home = os.environ.get("JAVA_HOME")
    return [
        str(Path(home, "bin", "java")) if home else "java",
        *("-cp", f"{JARS}/*", f"-Xmx{megabytes}m", "-XX:+UseSerialGC"),
        *([] if is_measured else ["-XX:TieredStopAtLevel=1"]),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    ]
