"""Polling where a client waits for what comes: a thread follows each split and fills a buffer, from which the
task takes (Flink: ``SplitFetcher``)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from firesteel.program.sources import Chunk, PollingReader, Split

_MESSAGES: Final = 2000  # of a split that wait to be read
_BYTES: Final = 16 << 20
_ENDING_S: Final = 5.0


class Message(NamedTuple):
    """What was read of a split: the message (None: nothing of it is for this split), its size in bytes, and
    the position behind it."""

    value: Any
    size: int
    position: Any


class Feed:
    """What a thread gives of its split to the task. It waits while the task has enough.

    :ivar stopped: set when the thread is to end.
    """

    def __init__(self, changed: threading.Condition, position: Any) -> None:
        self.stopped = threading.Event()
        self._changed = changed
        self._position = position  # behind the last message that was taken
        self._messages: deque[Message] = deque()
        self._size = 0
        self._has_ended = False
        self._error: Exception | None = None

    # ---- for the thread

    def put(self, messages: Iterable[Message]) -> None:
        """Give these, in order."""
        found = list(messages)
        with self._changed:
            self._changed.wait_for(self._has_room)
            self._messages.extend(found)
            self._size += sum(message.size for message in found)
            self._changed.notify_all()

    def end(self, position: Any) -> None:
        """The split ends at this position."""
        with self._changed:
            self._messages.append(Message(None, 0, position))
            self._has_ended = True
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def _has_room(self) -> bool:
        return self.stopped.is_set() or (len(self._messages) < _MESSAGES and self._size < _BYTES)

    # ---- for the task, which holds the lock of *changed*

    @property
    def has_news(self) -> bool:
        return bool(self._messages) or self._error is not None

    def take(self, count: int) -> tuple[list[Any], Any, bool]:
        """Return at most *count* messages, the position behind them, and whether the split ends there.

        :raises: what the thread has failed with, when all before it was taken.
        """
        if not self._messages and self._error is not None:
            raise self._error
        found: list[Any] = []
        while self._messages and len(found) < count:
            value, size, self._position = self._messages.popleft()
            self._size -= size
            if value is not None:
                found.append(value)
        return found, self._position, self._has_ended and not self._messages

    def stop(self) -> None:
        self.stopped.set()
        with self._changed:
            self._changed.notify_all()


#: Follows a split from a position (None: its start), until it ends or ``Feed.stopped`` is set.
Follow: TypeAlias = Callable[[Split, Any, Feed], None]
#: Makes the records of messages of a split that end at a position; the last says whether the split does.
MakeChunk: TypeAlias = Callable[[Split, list[Any], Any, bool], Chunk]


class FollowedSplits(PollingReader):
    """:param name: of the threads.
    :param follow: called in a thread of its own for each split.
    """

    def __init__(self, name: str, follow: Follow, chunk: MakeChunk) -> None:
        self._name = name
        self._follow = follow
        self._chunk = chunk
        self._changed = threading.Condition()
        self._followed: dict[str, _Followed] = {}  # splits that have not ended

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        for split, position in splits:
            feed = Feed(self._changed, position)
            arguments = (split, position, feed)
            thread = threading.Thread(
                target=self._run, args=arguments, name=f"{self._name} {split.id}", daemon=True
            )
            self._followed[split.id] = _Followed(split, feed, thread)
            thread.start()

    def _run(self, split: Split, position: Any, feed: Feed) -> None:
        try:
            self._follow(split, position, feed)
        except Exception as e:  # the task raises it
            feed.fail(e)

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        with self._changed:
            self._changed.wait_for(lambda: any(self._with_news(held)), wait_ms / 1000)
            taken = [(f.split, *f.feed.take(max_records)) for f in self._with_news(held)]
            self._changed.notify_all()
        found = []
        for split, messages, position, ended in taken:
            found.append((split.id, self._chunk(split, messages, position, ended)))
            if ended:
                del self._followed[split.id]
        return found

    def _with_news(self, held: Collection[str]) -> list[_Followed]:
        return [f for id, f in self._followed.items() if id not in held and f.feed.has_news]

    def close(self) -> None:
        for followed in self._followed.values():
            followed.feed.stop()
        for followed in self._followed.values():
            followed.thread.join(_ENDING_S)
        self._followed.clear()


class _Followed(NamedTuple):
    split: Split
    feed: Feed
    thread: threading.Thread
