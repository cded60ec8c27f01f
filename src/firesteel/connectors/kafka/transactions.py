"""Transactions with a marker. The marker records what is committed within the same transaction, so that it
can be read after a failure.

A driver claims a prefix. It has the output of each subtask written by a task, under the subtask's own
transactional id. A marker is a committed offset of a consumer group that belongs to the id; its metadata
holds the content. ``docs/design/kafka.md`` explains why, and why a stale driver or task cannot write twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.logs import logger
from firesteel.connectors._subtask_commits import TryLaterError
from firesteel.connectors.kafka.client import PATIENCE_S, Complaints, ask_again, describe, make_client
from firesteel.connectors.kafka.producer import new_transactional_producer, produce
from firesteel.connectors.kafka.serialization import Block
from firesteel.connectors.kafka.settings import GROUP_ID, ISOLATION, connection_settings
from firesteel.connectors.kafka.staging import Piece, all_blocks, digest_of

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

log = logger(__name__)

#: A marker needs the name of a topic. This one exists wherever a transaction was ever started.
ANY_TOPIC: Final = "__transaction_state"

_COMMIT_S: Final = 30.0


class FencedError(ConfigurationError):
    """Another job, or another driver of this job, writes with the same prefix."""


class Marker(NamedTuple):
    """``claim`` is the number of the driver's claim, ``commit`` the number of its commit, and ``digest``
    identifies what was committed. Later markers of a driver, and those of newer drivers, compare greater."""

    claim: int
    commit: int
    digest: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """The prefix of the transactional ids of a sink. ``marker_topic`` is an existing topic, for the
    markers."""

    properties: Mapping[str, str] = field(repr=False)
    name: str
    marker_topic: str

    def id_of(self, part: str | int) -> str:
        return f"{self.name}-{part}"

    def fenced(self) -> FencedError:
        return FencedError(
            f"Another job writes to Kafka with the transactional id prefix {self.name!r} now.",
            hint="jobs that run at the same time need a transactional id prefix of their own each",
        )


class Claim:
    """A driver's right to commit under a prefix. It lasts until another driver claims the prefix."""

    def __init__(self, prefix: Prefix) -> None:
        self._prefix = prefix
        self._number = 0
        self._commits = 0
        self._reader: MarkerReader | None = None

    def take(self, now_ms: int) -> None:
        """Claim the prefix. The previous holder cannot start another commit from now on.

        :raises ConfigurationError: the cluster does not allow it.
        :raises ConnectorError: the cluster does not answer.
        """
        with transaction(self._prefix, "claim") as (before, write):
            # Brokers drop the markers of unused groups; the clock is ahead of them by then.
            self._number = max(before.claim + 1, now_ms)
            write(Marker(self._number, 0, ""), ())

    def next_commit(self) -> SubtaskCommit:
        """Return what the tasks of the next commit run.

        :raises FencedError: another driver has claimed the prefix.
        :raises TryLaterError: Kafka does not answer.
        """
        if self._reader is None:
            self._reader = MarkerReader(self._prefix, "claim")
        if self._reader.read().claim > self._number:
            raise self._prefix.fenced()
        self._commits += 1
        return SubtaskCommit(self._prefix, self._number, self._commits)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


@dataclass(frozen=True, slots=True)
class SubtaskCommit:
    """Writes what a subtask has staged, and the marker, in one transaction under the subtask's id. It runs in
    tasks, and may run several times: the last to start with an id fences the others and sees their marker."""

    prefix: Prefix
    claim: int
    number: int

    def __call__(self, subtask: int, pieces: Sequence[Piece]) -> None:
        """Write the pieces unless that was already done.

        :raises TryLaterError: the outcome is unknown; the marker will tell.
        :raises FencedError: a newer driver has written for this subtask.
        :raises ConnectorError: Kafka rejects a message permanently.
        """
        marker = Marker(self.claim, self.number, digest_of(pieces))
        with transaction(self.prefix, subtask) as (before, write):
            if before.digest == marker.digest:
                return
            if before[:2] >= marker[:2]:  # these pieces, and something after them, were committed
                raise self.prefix.fenced()
            write(marker, all_blocks(pieces))


@contextmanager
def transaction(prefix: Prefix, part: str | int) -> Iterator[tuple[Marker, Transaction]]:
    """Start a transaction with an id. No earlier transaction of the id is open any more, and none of its
    previous users can commit. Yields the last marker, which is final, and what writes the next one. Writing
    is optional."""
    reader = MarkerReader(prefix, part)
    try:
        producer = _new_producer(prefix, prefix.id_of(part))
        yield reader.read(), Transaction(prefix, part, producer, reader.group_metadata())
    finally:
        reader.close()


class Transaction:
    """Writes messages and a marker."""

    def __init__(self, prefix: Prefix, part: str | int, producer: Producer, group: Any) -> None:
        self._prefix = prefix
        self._id = prefix.id_of(part)
        self._producer = producer
        self._group = group

    def __call__(self, marker: Marker, blocks: Iterable[Block]) -> None:
        """Write both or nothing.

        :raises TryLaterError: it is unknown whether they were written.
        :raises ConnectorError: Kafka rejects a message; nothing is written.
        """
        from confluent_kafka import KafkaException, TopicPartition

        producer = self._producer
        text = f"{marker.claim} {marker.commit} {marker.digest}"
        place = TopicPartition(self._prefix.marker_topic, 0, marker.commit, text)
        try:
            producer.begin_transaction()
            for block in blocks:
                produce(producer, block)
            while producer.flush(1.0) > 0:  # each message has its own delivery.timeout.ms
                continue
            producer.send_offsets_to_transaction([place], self._group, _COMMIT_S)
            producer.commit_transaction(_COMMIT_S)
        except KafkaException as error:
            raise self._ended(error.args[0]) from error
        except ConnectorError as error:  # the next producer with this id aborts the transaction
            reason = _end_of_transaction(error.__cause__)
            if reason is None:
                raise
            raise self._ended(reason) from error

    def _ended(self, error: KafkaError) -> ConnectorError | ConfigurationError:
        if error.code() in (error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, error.GROUP_AUTHORIZATION_FAILED):
            return _refused(self._prefix, self._id, error)
        if _is_fenced(error):  # if a newer job did it, the next attempt sees its claim
            return TryLaterError(f"Somebody else began with the transactional id {self._id!r} meanwhile.")
        return TryLaterError(f"The transaction {self._id!r} could not be committed.", detail=describe(error))


class MarkerReader:
    """Reads the marker of one transactional id."""

    def __init__(self, prefix: Prefix, part: str | int) -> None:
        self._prefix = prefix
        self._id = prefix.id_of(part)
        self._consumer = _consumer_of(prefix.properties, f"firesteel-{self._id}")

    def read(self) -> Marker:
        """Return the marker that was committed last.

        :raises TryLaterError: Kafka does not answer.
        :raises ConfigurationError: access is denied.
        """
        from confluent_kafka import KafkaException, TopicPartition

        try:
            place = TopicPartition(self._prefix.marker_topic, 0)
            found = ask_again(lambda: self._consumer.committed([place], timeout=PATIENCE_S))[0]
        except KafkaException as error:
            raise TryLaterError(
                f"The marker of the transactions {self._id!r} cannot be read.", detail=describe(error)
            ) from error
        if found.error is not None:
            raise _refused(self._prefix, self._id, found.error)
        if found.offset < 0:
            return Marker(0, 0, "")
        claim, commit, digest = (found.metadata or "").split(" ")
        return Marker(int(claim), int(commit), digest)

    def group_metadata(self) -> Any:
        """Return the group metadata that a producer needs to write the marker."""
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        self._consumer.close()


def _new_producer(prefix: Prefix, transactional_id: str) -> Producer:
    from confluent_kafka import KafkaException

    complaints = Complaints()
    producer = new_transactional_producer(prefix.properties, transactional_id, complaints)
    try:
        # Without a connection to a broker known by its number, the client looks for the coordinator only
        # after 0.5 s. The first answer names the brokers; the second comes from one of them.
        for _ in range(2):
            producer.list_topics(prefix.marker_topic, timeout=PATIENCE_S)
        producer.init_transactions(PATIENCE_S)
    except KafkaException as failed:
        error = failed.args[0]
        if error.code() == error.INVALID_TRANSACTION_TIMEOUT:
            raise ConfigurationError(
                "transaction.timeout.ms is larger than the brokers allow.",
                detail=f"{describe(error)}; their limit is transaction.max.timeout.ms",
                hint="set a smaller one on the sink: a transaction is open only while it is committed",
            ) from failed
        if error.retriable() or _is_fenced(error) or error.code() in (error._TIMED_OUT, error._TRANSPORT):
            last = complaints.last
            raise TryLaterError(
                f"No transaction {transactional_id!r} can be begun.", detail=describe(last or error)
            ) from failed
        raise _refused(prefix, transactional_id, error) from failed
    return producer


def _refused(prefix: Prefix, transactional_id: str, error: KafkaError) -> ConfigurationError:
    return ConfigurationError(
        f"Kafka does not allow the transactions {transactional_id!r}.",
        detail=describe(error),
        hint=f"the sink needs WRITE on the transactional ids {prefix.name}-*, READ on the groups "
        f"firesteel-{prefix.name}-* and READ on the topic {prefix.marker_topic}",
    )


def _is_fenced(error: KafkaError) -> bool:
    return error.code() in (error._FENCED, error.INVALID_PRODUCER_EPOCH, error.PRODUCER_FENCED)


def _end_of_transaction(cause: BaseException | None) -> KafkaError | None:
    """Return the error if the client refused a message because its transaction is over, not because of the
    message."""
    from confluent_kafka import KafkaException

    if not isinstance(cause, KafkaException):
        return None
    error: KafkaError = cause.args[0]
    over = _is_fenced(error) or error.code() in (error._FATAL, error._STATE)
    return error if over else None


def _consumer_of(properties: Mapping[str, str], group: str) -> Consumer:
    from confluent_kafka import Consumer

    fixed = {GROUP_ID: group, ISOLATION: "read_committed", "enable.auto.commit": False}
    return make_client(Consumer, connection_settings(properties) | fixed | {"error_cb": Complaints()})
