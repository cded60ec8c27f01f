"""Consumes a queue in the task, for as long as it lives (Flink: ``MessageAcknowledgingSourceBase``)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from firesteel.connectors.rabbitmq.receiver import Acknowledgement, Delivery, Receiver
from firesteel.connectors.rabbitmq.source import KnownMessages, Place, RabbitSource, place_of
from firesteel.program.sources import Chunk, PollingReader, Split

_CHUNK: Final = 1024
_LAST_ACKNOWLEDGEMENT_S: Final = 5.0  # how long a task that ends waits for it


class QueuePolling(PollingReader):
    """Numbers messages in the order in which it reads them.

    Its position says which messages of the last epoch have which numbers, and the enumerator keeps them
    for the next task, as long as they may be redelivered.

    :param chunk: makes the records of messages, the first of which has this number.
    """

    def __init__(self, source: RabbitSource, chunk: Callable[[int, list[bytes]], Chunk]) -> None:
        self._source = source
        self._chunk = chunk
        self._split: Split | None = None
        self._receiver: Receiver | None = None
        self._acknowledges = False
        self._arrived: deque[Delivery] = deque()
        self._next = 0
        self._numbers: dict[str, int] = {}  # of messages that may be redelivered, by correlation id
        self._names: dict[int, str] = {}  # the same, by number
        self._waiting: dict[int, Delivery] = {}  # unacknowledged messages, by number
        self._asked: list[Acknowledgement] = []  # that are under way
        self._new_names: dict[str, int] = {}  # of this epoch
        self._gone: list[str] = []  # acknowledged in this epoch

    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        for split, position in splits:
            known: KnownMessages = split.payload
            self._split = split
            self._next = place_of(position).number
            self._numbers = dict(known.names)
            self._names = {number: name for name, number in known.names.items()}
            self._acknowledges = known.acknowledges
            self._receiver = self._source.receiver(auto_ack=not known.acknowledges)
            self._receiver.start()

    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        if self._receiver is None or self._split is None or self._split.id in held:
            time.sleep(wait_ms / 1000)
            return ()
        self._settle()
        if not self._arrived:
            self._arrived.extend(self._receiver.take(wait_ms / 1000))
        first = self._next
        bodies: list[bytes] = []
        while self._arrived and len(bodies) < min(max_records, _CHUNK):
            delivery = self._arrived.popleft()
            if self._is_new(delivery):
                bodies.append(delivery.body)
        if not bodies:
            return ()
        chunk = self._chunk(first, bodies)
        return [(self._split.id, chunk._replace(position=Place(self._next)))]

    def _is_new(self, delivery: Delivery) -> bool:
        """Give a message a number, unless it was read already, and is redelivered."""
        if self._source.use_correlation_id:
            name = self._source.id_of(delivery)
            known = self._numbers.get(name)
            if known is not None:
                if self._acknowledges:
                    self._waiting[known] = delivery._replace(body=b"")
                return False
            if self._acknowledges:
                self._numbers[name] = self._new_names[name] = self._next
                self._names[self._next] = name
        if self._acknowledges:
            self._waiting[self._next] = delivery._replace(body=b"")
        self._next += 1
        return True

    def end_epoch(self) -> Mapping[str, Any]:
        self._settle()
        if self._split is None:
            return {}
        place = Place(self._next, self._new_names, tuple(self._gone))
        self._new_names, self._gone = {}, []
        return {self._split.id: place}

    # ---- acknowledgements

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        if self._split is None or self._receiver is None or not self._acknowledges:
            return
        covered = place_of(positions.get(self._split.id)).number
        done = {number: delivery for number, delivery in self._waiting.items() if number < covered}
        if done:
            self._asked.append(self._receiver.begin_to_acknowledge(done))

    def _settle(self) -> None:
        """Forget messages of which the server has taken the acknowledgement: they do not come again."""
        while self._asked and self._asked[0].is_done:
            asked = self._asked.pop(0)
            for number in asked.acknowledged:
                if self._waiting.get(number) == asked.messages[number]:
                    del self._waiting[number]
                    self._forget(number)

    def _forget(self, number: int) -> None:
        name = self._names.pop(number, None)
        if name is not None:
            del self._numbers[name]
            self._gone.append(name)

    def close(self) -> None:
        if self._asked:
            self._asked[-1].wait(_LAST_ACKNOWLEDGEMENT_S)
        if self._receiver is not None:
            self._receiver.close()
