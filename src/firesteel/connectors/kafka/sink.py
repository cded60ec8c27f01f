"""The Kafka sink, with each of the three delivery guarantees (Flink: ``KafkaSink``)."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.connectors._subtask_commits import TryLaterError, answer, commit_by_subtask
from firesteel.connectors.kafka.client import PATIENCE_S, Cluster, Complaints, require_client
from firesteel.connectors.kafka.producer import (
    Failures,
    TaskContext,
    flush,
    new_producer,
    new_transactional_producer,
    produce,
)
from firesteel.connectors.kafka.serialization import RecordSerializer
from firesteel.connectors.kafka.settings import (
    BOOTSTRAP,
    ONE_MINUTE,
    TRANSACTION_TIMEOUT,
    client_settings,
    number,
)
from firesteel.connectors.kafka.staging import Piece, Stage, discard_all_but
from firesteel.connectors.kafka.transactions import ANY_TOPIC, Claim, Prefix
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import (
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)

if TYPE_CHECKING:
    from confluent_kafka import Producer

_PREFIX_BYTES: Final = 6400


class Guarantee(enum.Enum):
    """What a failure may do to the output."""

    NONE = "none"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


_PROMISES: Final = {
    Guarantee.NONE: SinkPromise.NONE,
    Guarantee.AT_LEAST_ONCE: SinkPromise.AT_LEAST_ONCE,
    Guarantee.EXACTLY_ONCE: SinkPromise.EXACTLY_ONCE,
}


@dataclass(frozen=True)
class KafkaTopicSink(Sink):
    """The sink that ``KafkaSink.builder()`` builds. ``properties`` are those of Kafka's producer."""

    serializer: RecordSerializer
    properties: Mapping[str, str] = field(repr=False)
    guarantee: Guarantee = Guarantee.NONE
    transactional_id_prefix: str | None = None
    kept: _Kept = field(default_factory=lambda: _Kept(), compare=False, repr=False)

    @property
    def description(self) -> str:
        return "KafkaSink"

    @property
    def promise(self) -> SinkPromise:
        return _PROMISES[self.guarantee]

    def check(self) -> None:
        """Check everything that does not need the cluster.

        :raises ProgramError: a setting is missing, or settings contradict each other.
        """
        require_client()
        if BOOTSTRAP not in self.properties:
            raise ProgramError(
                f"Property {BOOTSTRAP} is required but not provided", hint="set_bootstrap_servers()"
            )
        if self.guarantee is Guarantee.EXACTLY_ONCE:
            prefix = self.transactional_id_prefix
            if not prefix:
                raise ProgramError(
                    "EXACTLY_ONCE needs a transactional id prefix.",
                    hint="set_transactional_id_prefix() with a name that no other sink on the cluster "
                    "has, and that stays when the job is started again",
                )
            if len(prefix.encode()) > _PREFIX_BYTES:
                raise ProgramError(f"A transactional id prefix has {_PREFIX_BYTES} bytes at most.")
            number(self.properties, TRANSACTION_TIMEOUT, ONE_MINUTE)
        client_settings(self.properties, producer=True)

    def validate(self) -> None:
        """Check that the cluster answers, grants access and accepts what is to be written."""
        self.check()
        exactly_once = self.guarantee is Guarantee.EXACTLY_ONCE
        if exactly_once:
            new_transactional_producer(self.properties, self.transactional_id_prefix or "", Complaints())
        else:
            new_producer(self.properties, Failures())
        cluster = Cluster(self.properties)
        known = cluster.metadata().topics
        topic = self.serializer.fixed_topic
        if topic is not None and topic not in known:
            _await_topic(cluster, topic)
        if exactly_once:
            self._check_timeout(cluster)

    def _check_timeout(self, cluster: Cluster) -> None:
        wanted = number(self.properties, TRANSACTION_TIMEOUT, ONE_MINUTE)
        limit = cluster.broker_config("transaction.max.timeout.ms")
        if limit is not None and wanted > int(limit):
            raise ConfigurationError(
                f"{TRANSACTION_TIMEOUT} is larger than the brokers allow.",
                detail=f"{wanted} ms, and their transaction.max.timeout.ms is {limit} ms",
                hint="a transaction is open only while it is committed, so a minute is usually enough",
            )

    def create_writer(self, context: WriterContext) -> SinkWriter:
        task = self.kept.task(self, context)
        if self.guarantee is Guarantee.EXACTLY_ONCE:
            return _StagingWriter(self.serializer, task, context)
        return _DirectWriter(self, task, context.buffer_timeout_ms)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        if self.guarantee is not Guarantee.EXACTLY_ONCE:
            return None
        return KafkaCommitter(self, context)


def _await_topic(cluster: Cluster, topic: str) -> None:
    """Wait for a topic that the brokers create automatically; this takes a moment."""
    import time

    deadline = time.monotonic() + PATIENCE_S / 2
    while (found := cluster.metadata(topic).topics[topic]).error is not None or not found.partitions:
        if time.monotonic() > deadline:
            raise ConfigurationError(
                f"There is no Kafka topic {topic!r} that can be written to.",
                detail=f"the cluster at {cluster.address} says: {found.error}",
                hint="create it first, or let the brokers do so (auto.create.topics.enable)",
            )
        time.sleep(0.1)


class _Kept:
    """What a worker process keeps of a sink between epochs. It is not pickled."""

    def __init__(self) -> None:
        self._task: TaskContext | None = None
        self.producer: Producer | None = None
        self.failures = Failures()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kept, ()

    def task(self, sink: KafkaTopicSink, context: WriterContext) -> TaskContext:
        if self._task is None:
            self._task = TaskContext(context.subtask_index, context.parallelism, sink.properties)
            sink.serializer.open(self._task)
        return self._task


class _DirectWriter(SinkWriter):
    """Sends messages immediately; with AT_LEAST_ONCE an epoch ends when all are delivered."""

    def __init__(self, sink: KafkaTopicSink, task: TaskContext, buffer_timeout_ms: float | None) -> None:
        self._serializer = sink.serializer
        self._task = task
        self._waits = sink.guarantee is Guarantee.AT_LEAST_ONCE
        self._kept = sink.kept
        if self._kept.producer is None:
            self._kept.producer = new_producer(sink.properties, self._kept.failures, buffer_timeout_ms)
        self._producer = self._kept.producer

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        produce(self._producer, self._serializer.encode(values, timestamps, self._task))

    def flush(self, end_of_input: bool) -> None:
        if self._waits or end_of_input:  # this process is not used again after the job
            flush(self._producer, self._kept.failures)
        else:
            self._kept.failures.check()


class _StagingWriter(SinkWriter):
    """Stages messages next to the state of the job until their checkpoint is complete."""

    def __init__(self, serializer: RecordSerializer, task: TaskContext, context: WriterContext) -> None:
        self._serializer = serializer
        self._task = task
        self._stage = Stage(context)

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._stage.add(self._serializer.encode(values, timestamps, self._task))

    def prepare_commit(self) -> list[Any]:
        return self._stage.finish()


class KafkaCommitter(Committer):
    """Runs tasks that write what a checkpoint covers. What a subtask has staged is one transaction: readers
    of committed records see all of it or nothing."""

    def __init__(self, sink: KafkaTopicSink, context: CommitterContext) -> None:
        assert sink.transactional_id_prefix is not None
        topic = sink.serializer.fixed_topic or ANY_TOPIC
        self._context = context
        self._claim = Claim(Prefix(sink.properties, sink.transactional_id_prefix, topic))

    def open(self) -> None:
        self._claim.take(self._context.now_ms())

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable]) -> None:
        discard_all_but(_pieces(kept), _pieces(dropped), self._context.transaction_prefix)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        if not requests:
            return
        size = sum(request.get_committable().size for request in requests)
        try:
            commit_by_subtask(self._context, requests, self._claim.next_commit(), size)
        except TryLaterError as error:
            answer(requests, error)

    def post_commit(self, committables: Sequence[Committable]) -> None:
        for piece in _pieces(committables):
            piece.discard()

    def close(self) -> None:
        self._claim.close()


def _pieces(committables: Sequence[Committable]) -> list[Piece]:
    return [committable.payload for committable in committables]
