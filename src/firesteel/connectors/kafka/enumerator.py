"""Discovers partitions and plans how far each is read in an epoch (Flink: ``KafkaSourceEnumerator``)."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, Final

from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.common.logs import logger
from firesteel.connectors.kafka.client import PATIENCE_S, Cluster, describe, make_client
from firesteel.connectors.kafka.offsets import EARLIEST, OffsetLookup, Partition
from firesteel.connectors.kafka.settings import (
    AUTO_COMMIT,
    AUTO_COMMIT_INTERVAL,
    client_settings,
    flag,
    number,
)
from firesteel.connectors.kafka.source import KafkaTopicSource, PartitionSplit
from firesteel.program.sources import ReadRange, Split, SplitEnumerator

if TYPE_CHECKING:
    from confluent_kafka import Consumer

log = logger(__name__)

_WAIT_FOR_ENDS_S: Final = 0.25  # the job continues while slower brokers are still being asked
_FIVE_SECONDS: Final = 5_000
_MAY_BE_SHORT_MS: Final = 60_000  # a new leader may not know yet that the last records are fully replicated


class KafkaEnumerator(SplitEnumerator):
    """Plans what an epoch reads: up to the last readable record at planning time.

    A broker that does not answer while the job runs delays only its own partitions; it is asked again.
    """

    def __init__(self, source: KafkaTopicSource) -> None:
        self._source = source
        self._cluster = Cluster(source.properties)
        self._look_up = OffsetLookup(self._cluster, source.properties)
        self._known: set[Partition] = set()
        self._discovered = False  # the initial partitions were found
        self._looks_again = False
        self._next_discovery_ms: int | None = None
        self._ends = _Ends(self._look_up)
        self._positions: dict[Partition, int] = {}
        self._stops: dict[Partition, int] = {}
        self._short_since: dict[Partition, int] = {}
        self._group = _Group(source)

    # ---- partitions

    def discover(self, now_ms: int) -> list[Split]:
        splits = self._new_splits(now_ms) if self._is_discovery_due(now_ms) else []
        self._ends.refresh(p for p in self._known if not self._is_all_there(p))
        self._group.tick(now_ms, self._positions)
        return splits

    def look_again(self) -> None:
        """Look for partitions in the next ``discover``, even if there is no discovery interval, because the
        topics have changed since the restored checkpoint."""
        self._looks_again = True

    def _is_discovery_due(self, now_ms: int) -> bool:
        if self._looks_again or not self._discovered:
            return True
        interval = self._source.discovery_interval_ms
        if interval is None:
            return False
        if self._next_discovery_ms is None:
            return True  # after a restore: there may be new partitions
        return now_ms >= self._next_discovery_ms

    def _new_splits(self, now_ms: int) -> list[Split]:
        interval = self._source.discovery_interval_ms
        self._next_discovery_ms = now_ms + (interval or 0)
        try:
            found = self._source.subscription.find(self._cluster)
            new = [p for p in found if p not in self._known]
            splits = self._splits(new)
        except (ConnectorError, ConfigurationError) as error:
            if not self._discovered:
                raise
            log.warning("no new partitions can be found: %s", error)
            return []
        for partition in new if self._discovered else ():
            log.info("new partition partition=%s", partition)
        self._known.update(new)
        self._discovered, self._looks_again = True, False
        return splits

    def _splits(self, partitions: list[Partition]) -> list[Split]:
        if not partitions:
            return []
        # The starting rule does not apply to partitions created while the job runs: they are read in full.
        rule = EARLIEST if self._discovered else self._source.starting
        starts = rule.start(partitions, self._look_up)
        stopping = self._source.stopping
        stops = {} if stopping is None else stopping.resolve(partitions, self._look_up)
        return [Split(str(p), PartitionSplit(*p, starts[p], stops.get(p))) for p in partitions]

    @property
    def finished(self) -> bool:
        return self._discovered and self._source.discovery_interval_ms is None

    # ---- ranges

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        payload: PartitionSplit = split.payload
        partition = payload.partition
        start: int = payload.start if position is None else position
        self._known.add(partition)
        self._positions[partition] = start
        if payload.stop is not None:
            self._stops[partition] = payload.stop
            if start >= payload.stop:
                return ReadRange(split, start, max_records, max_bytes, start)  # only to signal the end
        there = self._ends.get(partition)
        if there is not None:
            self._check_length(partition, start, there, now_ms)
        stop = start if there is None else min(there, start + max_records)
        if payload.stop is not None:
            stop = min(stop, payload.stop)
        return ReadRange(split, start, max_records, max_bytes, stop) if stop > start else None

    def _check_length(self, partition: Partition, position: int, end: int, now_ms: int) -> None:
        """:raises ConnectorError: the partition has been shorter than what was read of it for a minute."""
        if end >= position:
            self._short_since.pop(partition, None)
            return
        since = self._short_since.setdefault(partition, now_ms)
        if since == now_ms:
            log.warning("a partition ends before what was read partition=%s end=%d", partition, end)
        if now_ms - since >= _MAY_BE_SHORT_MS:
            raise ConnectorError(
                f"Kafka partition {partition} ends at offset {end}, before {position} where the job is.",
                detail="its last records were lost, or the topic was deleted and created again",
                hint="begin without the state of the source (another uid), from the offsets that you choose",
            )

    def _is_all_there(self, partition: Partition) -> bool:
        """Return true if everything left to read existed already, so that there is no need to ask again."""
        stop, end = self._stops.get(partition), self._ends.get(partition)
        return stop is not None and end is not None and end >= stop

    def came_to(self, split: Split, position: Any) -> None:
        self._positions[split.payload.partition] = position

    def pending_records(self) -> dict[str, int]:
        return {
            str(p): max(0, (self._ends.get(p) or 0) - position) for p, position in self._positions.items()
        }

    # ---- the life of the source

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        if self._source.commits_on_checkpoint:
            by_name = {str(p): p for p in self._known}
            self._group.commit({by_name[name]: at for name, at in positions.items() if name in by_name})

    def snapshot(self) -> Any:
        return sorted(self._known), self._discovered

    def restore(self, state: Any) -> None:
        known, self._discovered = state
        self._known = set(known)

    def close(self) -> None:
        self._group.close(self._positions)


class _Ends:
    """The last known end of each partition: the offset after its last readable record."""

    def __init__(self, look_up: OffsetLookup) -> None:
        self._look_up = look_up
        self._known: dict[Partition, int] = {}
        self._asked: dict[Partition, Any] = {}
        self._unanswered: set[Partition] = set()

    def get(self, partition: Partition) -> int | None:
        return self._known.get(partition)

    def refresh(self, partitions: Any) -> None:
        """Ask the brokers and wait briefly for the answers. Late answers are used by the next call."""
        wanted = [p for p in partitions if p not in self._asked]
        if wanted:
            from confluent_kafka.admin import OffsetSpec

            self._asked |= self._look_up.request(wanted, OffsetSpec.latest())
        new = any(p not in self._known for p in self._asked)
        wait(self._asked.values(), PATIENCE_S if new else _WAIT_FOR_ENDS_S)
        failed = False
        for partition, future in list(self._asked.items()):
            if future.done():
                del self._asked[partition]
                error = future.exception()
                if error is None:
                    self._known[partition] = future.result().offset
                    self._unanswered.discard(partition)
                else:
                    failed = True
                    self._failed(partition, error)
        if failed:
            self._look_up.find_leaders()

    def _failed(self, partition: Partition, error: BaseException) -> None:
        """Handle a failed look-up. A deleted topic is final; any other error may be temporary."""
        reason = error.args[0] if error.args else None
        if reason is not None and hasattr(reason, "code") and reason.code() == reason.UNKNOWN_TOPIC_OR_PART:
            raise ConnectorError(
                f"Kafka partition {partition} is gone while it is being read.",
                detail=describe(error),
                hint="a job cannot go on with a topic that was deleted: begin without its state",
            ) from error
        if partition not in self._unanswered:
            self._unanswered.add(partition)
            log.warning("the end of a partition is not known partition=%s: %s", partition, describe(error))


class _Group:
    """Commits the position of the source to the consumer group, for monitoring tools. The job never reads it
    back: its positions are in its checkpoints."""

    def __init__(self, source: KafkaTopicSource) -> None:
        properties = source.properties
        self._properties = properties
        self._auto_ms: int | None = None
        if flag(properties, AUTO_COMMIT, False):
            self._auto_ms = number(properties, AUTO_COMMIT_INTERVAL, _FIVE_SECONDS)
        self._next_auto_ms: int | None = None
        self._consumer: Consumer | None = None
        self._committed: dict[Partition, int] = {}

    def tick(self, now_ms: int, positions: Mapping[Partition, int]) -> None:
        """Poll the client for callbacks, and commit if a commit is due (``enable.auto.commit``)."""
        if self._consumer is not None:
            self._consumer.poll(0)
        if self._auto_ms is not None:
            if self._next_auto_ms is not None and now_ms >= self._next_auto_ms:
                self.commit(positions)
            if self._next_auto_ms is None or now_ms >= self._next_auto_ms:
                self._next_auto_ms = now_ms + self._auto_ms

    def commit(self, positions: Mapping[Partition, int]) -> None:
        from confluent_kafka import TopicPartition

        changed = {p: at for p, at in positions.items() if self._committed.get(p) != at}
        if not changed:
            return
        if self._consumer is None:
            from confluent_kafka import Consumer

            settings = client_settings(self._properties, producer=False)
            callbacks = {"on_commit": _report, "enable.auto.commit": False}
            self._consumer = make_client(Consumer, settings | callbacks)
        offsets = [TopicPartition(p.topic, p.number, at) for p, at in changed.items()]
        self._consumer.commit(offsets=offsets, asynchronous=True)
        self._committed |= changed

    def close(self, positions: Mapping[Partition, int]) -> None:
        if self._auto_ms is not None:
            self.commit(positions)
        if self._consumer is not None:
            self._consumer.close()  # waits for the commit in progress


def _report(error: Any, partitions: Any) -> None:
    if error is not None:
        log.warning("offsets could not be committed to the group: %s", describe(error))
