"""Tracks what the driver knows about the unread records of a shard."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from itertools import accumulate
from typing import Any, Final

from firesteel.common.logs import logger
from firesteel.connectors.aws.client import client, code_of, errors, failure, is_passing
from firesteel.connectors.aws.consumer_options import ConsumerOptions
from firesteel.connectors.aws.shards import (
    Place,
    ShardSplit,
    Start,
    StartKind,
    Stop,
    iterator_request,
    server_time_ms,
)

log = logger(__name__)

_SLOWEST: Final = 20  # attempts, after which the back-off stops growing
_FAR_BEHIND_MS: Final = 10_000
_NEAR_END_MS: Final = 5_000


class ShardTail:
    """Looks ahead in one shard, one request at a time, in a thread of ``executor``. All methods are called
    from the driver's thread, except ``_look``, which runs in the other thread and changes nothing.

    When the lag is large, looking at each record would halve the throughput. It then leaps: it fetches one
    record near the end, and the number of records before it need not be known.

    :param place: how far the shard has been read; None: not started.
    :param begun_ms: when the source was started, on Kinesis's clock: LATEST means from then on.
    """

    def __init__(
        self,
        split: ShardSplit,
        place: Place | None,
        properties: Mapping[str, str],
        options: ConsumerOptions,
        executor: Executor,
        begun_ms: int,
    ) -> None:
        self._split = split
        self._properties = properties
        self._options = options
        self._executor = executor
        self._place = place  # after the last known record
        self._sequences: list[int] = []  # of the known, unread records
        self._sizes: list[int] = []
        self._iterator: str | None = None
        self._closed = False  # nothing follows the known records
        self._begin = place  # before the first record of the shard
        self._has_gap = False  # there may be records before the first known one
        self._behind_ms = 0
        self._kinesis_ms = begun_ms  # Kinesis's clock at the last response
        self._leap_ms = _NEAR_END_MS  # distance of the next leap from the end
        self._leaps = False  # the current request is a leap
        self._failures = 0
        self._next_look_ms = 0
        self.asked: Future[Mapping[str, Any]] | None = None

    @property
    def pending(self) -> int:
        """The number of known, unread records."""
        return len(self._sequences)

    @property
    def next_look_ms(self) -> int | None:
        """None: there is nothing to look for."""
        return None if self._closed else self._next_look_ms

    def next_range(
        self, position: Place | None, max_records: int, max_bytes: int
    ) -> tuple[Place | None, Stop] | None:
        """Return what may be read from ``position`` on; None if nothing after it is known."""
        if position is not None:
            read = bisect_left(self._sequences, position.sequence + position.behind)
            del self._sequences[:read], self._sizes[:read]
            self._has_gap = self._has_gap and not read
        if not self._sequences:
            if not self._closed:
                return None
            return position, Stop(None if position is None else position.sequence, last=True)
        count = 1 if self._has_gap else self._count(max_records, max_bytes)
        last = self._closed and count == len(self._sequences)
        stop = Stop(self._sequences[count - 1], last, None if self._has_gap else count)
        return position or self._begin, stop

    def _count(self, max_records: int, max_bytes: int) -> int:
        """Return how many of the known records an epoch may read."""
        most = min(max_records, len(self._sizes))
        sizes = accumulate(self._sizes[:most])
        return next((count for count, size in enumerate(sizes, 1) if size >= max_bytes), most)

    def look(self, now_ms: int, wanted: int) -> None:
        """Request more, unless ``wanted`` records are known or it is too early."""
        if self.asked is not None or self._closed or now_ms < self._next_look_ms:
            return
        if self._has_gap or self.pending >= wanted:
            return
        is_far = self._behind_ms > max(_FAR_BEHIND_MS, 2 * self._leap_ms)
        self._leaps = is_far and self._begin is not None
        if self._leaps:
            near_end = Start(StartKind.AT_TIMESTAMP, self._kinesis_ms - self._leap_ms)
            request = iterator_request(self._split._replace(start=near_end), None)
            self.asked = self._executor.submit(self._look, None, request, 1)
        else:
            request = iterator_request(self._split, self._place)
            self.asked = self._executor.submit(self._look, self._iterator, request, self._options.max_count)

    def _look(self, iterator: str | None, request: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
        kinesis = client("kinesis", self._properties)
        if iterator is None:
            iterator = kinesis.get_shard_iterator(**request)["ShardIterator"]
        answer: Mapping[str, Any] = kinesis.get_records(ShardIterator=iterator, Limit=limit)
        return answer

    def take_answer(self, now_ms: int) -> None:
        """Process the response, if it has arrived.

        :raises FiresteelError: the stream is gone, or access is denied.
        """
        if self.asked is None or not self.asked.done():
            return
        asked, self.asked = self.asked, None
        error = asked.exception()
        if error is not None:
            self._failed(error, now_ms)
            return
        self._failures = 0
        answer = asked.result()
        self._kinesis_ms = server_time_ms(answer) or now_ms
        records = answer["Records"]
        if self._leaps and not self._land(records):
            return
        self._sequences += [int(record["SequenceNumber"]) for record in records]
        self._sizes += [len(record["Data"]) for record in records]
        if records:
            self._place = Place(self._sequences[-1])
            self._begin = self._begin or Place(self._sequences[0], behind=False)
        self._iterator = answer.get("NextShardIterator")
        self._closed = self._iterator is None
        self._behind_ms = answer.get("MillisBehindLatest") or 0
        self._next_look_ms = now_ms + (0 if self._behind_ms else self._options.interval_ms)

    def _land(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """Return true if a leap found a record after the known ones; otherwise the next leap is shorter."""
        known = -1 if self._place is None else self._place.sequence
        if not records or int(records[0]["SequenceNumber"]) <= known:
            self._leap_ms *= 4
            return False
        self._leap_ms = _NEAR_END_MS
        self._has_gap = True
        self._sequences, self._sizes = [], []
        return True

    def _failed(self, error: BaseException, now_ms: int) -> None:
        """Wait after transient errors; the job continues with other shards."""
        if not isinstance(error, errors()):
            raise error
        if code_of(error) == "ExpiredIteratorException":
            self._iterator = None
        if self._iterator is None and self._place is None:
            self._split = self._split.since(self._kinesis_ms)
        if code_of(error) == "ExpiredIteratorException":
            return
        what = f"Shard {self._split.shard} of the Kinesis stream {self._split.stream!r} cannot be read"
        if not is_passing(error):
            raise failure(error, what, self._properties) from error
        if self._failures % 10 == 0:
            log.warning("%s now: %s", what, error)
        pause_s = self._options.backoff.pause_s(min(self._failures, _SLOWEST))
        self._failures += 1
        self._next_look_ms = now_ms + max(self._options.interval_ms, round(pause_s * 1000))
