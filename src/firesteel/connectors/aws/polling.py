"""Follows a shard for as long as a task lives (Flink: ``ShardConsumer``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.common.logs import logger
from firesteel.connectors._followed import Feed, Message
from firesteel.connectors.aws.aggregation import Record
from firesteel.connectors.aws.client import client, code_of, errors, failure, is_passing
from firesteel.connectors.aws.consumer_options import ConsumerOptions
from firesteel.connectors.aws.reader import taken_apart
from firesteel.connectors.aws.shards import Place, ShardSplit, iterator_request, server_time_ms
from firesteel.program.sources import Split

log = logger(__name__)


def follow(
    properties: Mapping[str, str], options: ConsumerOptions, split: Split, place: Place | None, feed: Feed
) -> None:
    """A position is the place of the last record that was read.

    :raises FiresteelError: the stream is gone, or access is denied. What may pass is waited for.
    """
    _Shard(properties, options, split.payload, place, feed).follow()


class _Shard:
    def __init__(
        self,
        properties: Mapping[str, str],
        options: ConsumerOptions,
        split: ShardSplit,
        place: Place | None,
        feed: Feed,
    ) -> None:
        self._properties = properties
        self._options = options
        self._split = split
        self._place = place
        self._feed = feed
        self._kinesis = client("kinesis", properties)

    def follow(self) -> None:
        iterator: str | None = None
        while not self._feed.stopped.is_set():
            page = self._page(iterator)
            if page is None:  # stopped, or the iterator has expired
                iterator = None
                continue
            self._put(page["Records"])
            iterator = page.get("NextShardIterator")
            if iterator is None:
                self._feed.end(self._place)
                return
            if not page.get("MillisBehindLatest"):
                self._feed.stopped.wait(self._options.polled_interval_ms / 1000)

    def _page(self, iterator: str | None) -> Record | None:
        if iterator is None:
            request = iterator_request(self._split, self._place)
            answer = self._answer(lambda: self._kinesis.get_shard_iterator(**request))
            if answer is None:
                return None
            iterator = answer["ShardIterator"]
            now_ms = server_time_ms(answer)
            if now_ms is not None:
                self._split = self._split.since(now_ms)
        return self._answer(
            lambda: self._kinesis.get_records(ShardIterator=iterator, Limit=self._options.max_count)
        )

    def _put(self, records: list[Record]) -> None:
        if not records:
            return
        self._feed.put(
            Message(record, 0 if record is None else len(record["Data"]), behind)
            for record, behind in taken_apart(records, self._split, self._place)
        )
        self._place = Place(int(records[-1]["SequenceNumber"]))

    def _answer(self, ask: Callable[[], Record]) -> Record | None:
        """What Kinesis says, at last; None: the task ends, or the iterator has expired."""
        what = f"Shard {self._split.shard} of the Kinesis stream {self._split.stream!r} cannot be read"
        failures = 0
        while not self._feed.stopped.is_set():
            try:
                return ask()
            except errors() as error:
                if code_of(error) == "ExpiredIteratorException":
                    return None
                if not is_passing(error):
                    raise failure(error, what, self._properties) from error
                if failures % 10 == 9:
                    log.warning("%s now: %s", what, error)
                self._feed.stopped.wait(self._options.backoff.pause_s(failures))
                failures += 1
        return None
