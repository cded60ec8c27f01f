"""Reads partitions for as long as a task lives, a thread for each of them (Flink: ``SplitFetcher``)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, TypeAlias

from firesteel.connectors.pulsar.client import Admin, PulsarSettings
from firesteel.connectors.pulsar.cursors import Place
from firesteel.connectors.pulsar.reader import PartitionSplit, Scan
from firesteel.program.sources import Chunk, PollingReader, Split

_MESSAGES: Final = 2000  # of a partition that wait to be read
_BYTES: Final = 16 << 20
_WAIT_MS: Final = 200  # for a message, after which it is seen whether the thread is to end
_ENDING_S: Final = 5.0

#: Makes the records of messages of a split that end at a position; the last says whether the split does.
MakeChunk: TypeAlias = Callable[[PartitionSplit, list[Any], Place, bool], Chunk]


class TopicPolling(PollingReader):
    """A position is the place of the last message that was read."""

    def __init__(self, settings: PulsarSettings, name: str | None, chunk: MakeChunk) -> None:
        self._settings = settings
        self._name = name
        self._chunk = chunk
        self._changed = threading.Condition()
        self._fetchers: dict[str, _Fetcher] = {}  # of splits that have not ended

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        for split, position in splits:
            scan = Scan(self._settings, self._name, split)
            fetcher = _Fetcher(scan, split, position, Admin(self._settings), self._changed)
            self._fetchers[split.id] = fetcher
            fetcher.start()

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        with self._changed:
            self._changed.wait_for(
                lambda: any(f.has_news for id, f in self._fetchers.items() if id not in held), wait_ms / 1000
            )
            taken = [
                (fetcher, *fetcher.take(max_records))
                for id, fetcher in self._fetchers.items()
                if id not in held and fetcher.has_news
            ]
            self._changed.notify_all()
        found = []
        for fetcher, messages, ended in taken:
            split = fetcher.split
            found.append((split.id, self._chunk(split.payload, messages, fetcher.position, ended)))
            if ended:
                del self._fetchers[split.id]
        return found

    def close(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.stop()
        for fetcher in self._fetchers.values():
            fetcher.join(_ENDING_S)
        self._fetchers.clear()


class _Fetcher(threading.Thread):
    """Follows a partition. All but ``run`` belongs to the task, which holds the lock of *changed*.

    :ivar position: behind the last message that was taken.
    """

    def __init__(
        self, scan: Scan, split: Split, position: Place | None, admin: Admin, changed: threading.Condition
    ) -> None:
        super().__init__(name=f"pulsar {split.id}", daemon=True)
        self.split = split
        payload: PartitionSplit = split.payload
        self.position = payload.start if position is None else position
        self._seek_ms = payload.seek_ms if position is None else None
        self._payload = payload
        self._scan = scan
        self._admin = admin
        self._changed = changed
        self._messages: deque[tuple[Any, Place]] = deque()
        self._size = 0
        self._end: Place | None = None  # once it is known
        self._error: Exception | None = None
        self._stopped = threading.Event()

    @property
    def has_news(self) -> bool:
        return bool(self._messages) or self._end is not None or self._error is not None

    def take(self, count: int) -> tuple[list[Any], bool]:
        """Return at most *count* messages, and whether the split ends behind them."""
        if not self._messages and self._error is not None:
            raise self._error
        found: list[Any] = []
        while self._messages and len(found) < count:
            message, self.position = self._messages.popleft()
            self._size -= len(message.data())
            found.append(message)
        ended = self._end is not None and not self._messages
        if ended and self._end is not None:
            self.position = self._end
        return found, ended

    def stop(self) -> None:
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()

    # ---- in the thread

    def run(self) -> None:
        try:
            self._follow()
        except Exception as e:  # the task raises it
            with self._changed:
                self._error = e
                self._changed.notify_all()
        finally:
            self._scan.close()

    def _follow(self) -> None:
        scan = self._scan
        scan.go_to(self.position, self._seek_ms)
        while not self._stopped.is_set():
            if scan.has_ended:
                with self._changed:
                    self._end = scan.position
                    self._changed.notify_all()
                return
            message = scan.follow(_WAIT_MS)
            if message is not None:
                self._add(message, scan.position)
            elif not scan.has_ended:
                self._see_end()

    def _see_end(self) -> None:
        """Nothing came. Where a split ends there need not be a message that can be read, so that no message
        shows that the end has come."""
        stop = self._payload.stop
        if stop is not None and not self._scan.has_more() and self._admin.last(self.split.id) >= stop:
            self._scan.position = stop

    def _add(self, message: Any, place: Place) -> None:
        with self._changed:
            self._changed.wait_for(self._has_room)
            self._messages.append((message, place))
            self._size += len(message.data())
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._stopped.is_set() or (len(self._messages) < _MESSAGES and self._size < _BYTES)
