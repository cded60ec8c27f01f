"""Source of topics, with a split for each partition (Flink: ``PulsarSource``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.pulsar.client import CHECK_S, Admin, PulsarSettings, check_brokers, topic_name
from firesteel.connectors.pulsar.cursors import EARLIEST, FROM_EARLIEST, NEVER, At, Cursor, Place
from firesteel.connectors.pulsar.reader import PartitionSplit, TopicReader
from firesteel.program.sources import (
    Boundedness,
    EnumeratorContext,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)

_PARTITION: Final = re.compile(r"-partition-\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarTopicSource(Source):
    """Reads the partitions of topics in ranges of message ids.

    :param topics: the topics; or ``pattern``: a regular expression for full topic names in one namespace.
    :param subscription: Pulsar retains for it what no checkpoint has covered.
    :param discovery_ms: interval between checks for new partitions; 0: check only once.
    """

    settings: PulsarSettings
    schema: DeserializationSchema
    subscription: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    start: Cursor = FROM_EARLIEST
    stop: Cursor = NEVER
    bounded: bool = False
    discovery_ms: int = 30_000
    consumer_name: str | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def description(self) -> str:
        return f"Pulsar {self.pattern or ', '.join(self.topics)}"

    def validate(self) -> None:
        """Check that the topics, and the brokers that serve them, can be reached."""
        for partition in self.partitions(Admin(self.settings, CHECK_S))[:1]:
            check_brokers(self.settings, partition)

    def partitions(self, admin: Admin) -> list[str]:
        if self.pattern is None:
            return [part for topic in self.topics for part in admin.partitions(topic_name(topic))]
        whole = topic_name(self.pattern)
        wanted = re.compile(whole)
        namespace = "/".join(whole.removeprefix("persistent://").split("/")[:2])
        return [t for t in sorted(admin.topics(namespace)) if wanted.fullmatch(_PARTITION.sub("", t))]

    def promise(self, checkpointing: bool) -> SourcePromise:
        latest = self.start.at is At.LATEST
        return SourcePromise.from_start(latest=latest and not checkpointing)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _TopicEnumerator(self)

    def create_reader(self) -> SourceReader:
        return TopicReader(self.settings, self.schema, self.consumer_name)


class _TopicEnumerator(SplitEnumerator):
    def __init__(self, source: PulsarTopicSource) -> None:
        self._source = source
        self._admin = Admin(source.settings)
        self._known: set[str] = set()
        self._last: dict[str, Place] = {}
        self._acknowledged: dict[str, tuple[Place, bool]] = {}
        self._looked_ms: int | None = None

    def discover(self, now_ms: int) -> list[Split]:
        if self._looked_ms is not None and not self._is_due(now_ms):
            return []
        self._looked_ms = now_ms
        new = [name for name in self._source.partitions(self._admin) if name not in self._known]
        for name in new:
            self._admin.subscribe(name, self._source.subscription)
        self._known.update(new)
        return [Split(name, self._payload(name)) for name in new]

    def _is_due(self, now_ms: int) -> bool:
        every_ms = self._source.discovery_ms
        return not self.finished and every_ms > 0 and now_ms - (self._looked_ms or 0) >= every_ms

    def _payload(self, name: str) -> PartitionSplit:
        start, stop = self._source.start, self._source.stop
        first = self._admin.last(name) if start.at is At.LATEST else start.place
        seek_ms = start.time_ms if start.at is At.PUBLISH_TIME else None
        last = self._admin.last(name) if stop.at is At.LATEST else stop.place
        fixed = last if stop.at in (At.LATEST, At.MESSAGE) else None
        return PartitionSplit(name, first, seek_ms, fixed, stop)

    @property
    def finished(self) -> bool:
        return self._source.bounded and self._looked_ms is not None

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        payload: PartitionSplit = split.payload
        reached = payload.start if position is None else position
        if payload.stop is not None and reached >= payload.stop:
            return ReadRange(split, position, max_records, max_bytes, payload.stop)  # signals the end
        last = self._last.get(split.id, EARLIEST)
        if reached >= last:
            last = self._last[split.id] = self._admin.last(split.id)
        if reached >= last:
            return None
        stop = last if payload.stop is None else min(last, payload.stop)
        return ReadRange(split, position, max_records, max_bytes, stop)

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        for name, place in positions.items():
            if place is None or place.entry < 0:
                continue
            covered = place, place >= self._last.get(name, EARLIEST)
            if self._acknowledged.get(name) != covered:  # Pulsar pauses the subscription for a moment
                self._admin.acknowledge(name, self._source.subscription, *covered)
                self._acknowledged[name] = covered

    def snapshot(self) -> Any:
        return sorted(self._known), self._looked_ms

    def restore(self, state: Any) -> None:
        known, looked_ms = state
        self._known = set(known)
        self._looked_ms = looked_ms if self._source.bounded else None


def check_pattern(pattern: str) -> str:
    """Return the full topic pattern.

    :raises ConfigurationError: if it is not a valid regular expression or does not pin down a namespace.
    """
    whole = topic_name(pattern)
    try:
        re.compile(whole)
    except re.error as error:
        raise ConfigurationError("Not a regular expression.", detail=f"{pattern!r}: {error}") from error
    if not re.fullmatch(r"persistent://[\w.-]+/[\w.-]+/.+", whole):
        raise ConfigurationError(
            "A pattern is for topics of one namespace.",
            detail=f"got {pattern!r}",
            hint="persistent://tenant/namespace/ and then the pattern",
        )
    return pattern
