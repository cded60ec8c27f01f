"""How far a task may be ahead of those that it sends to, in real-time mode.

Spark's exchange takes megabytes before a sender has to wait: with functions that take milliseconds for a
record these are minutes, which every barrier behind them would wait for. So a task says from time to time how
much it has processed, and who sends to it stops when too much is on the way: what the receivers process in
some tenths of a second, as far as that is known (Flink: buffer debloating).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

_LEAST: Final = 8  # records that may be on the way
_ON_THE_WAY_S: Final = 0.4
_STALE_S: Final = 1.0  # between two looks: the sender had no need to look
_GROWTH: Final = 4
_WIDENING: Final = 16  # of a window: each time takes some hundredths of a second, and it begins with a few
_PIECE_S: Final = 0.05  # of work, after which a source task sees to other things
_FORGETTING: Final = 0.9  # what a slow record has cost, with each piece after it
_MOST: Final = 1_000  # records of a piece

#: Records by channel, since the tasks began.
Totals = Mapping[int, int]


class SentWindow:
    """Of a task that sends.

    :param channels: its own.
    :param received: what the receivers say that they have processed, each of all channels; None: nothing that
        can be read now.
    :param look_s: how often it is worth while to ask them.
    """

    def __init__(
        self,
        channels: Collection[int],
        received: Callable[[], Sequence[Totals | None]],
        look_s: float,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._channels = channels
        self._ask = received
        self._look_s = look_s
        self._now_s = now_s
        self._limit = _LEAST
        self._said: dict[int, int] = {}  # by receiver, the last that could be read
        self._received = 0
        self._looked_s = 0.0
        self._round = 0, now_s()  # how much was processed when it was last thought over, and when that was

    def room(self, sent: int) -> int:
        """How many records may be sent now, after so many in all."""
        if sent - self._received >= self._limit:
            self._look()
        return max(0, self._limit - (sent - self._received))

    def _look(self) -> None:
        now_s = self._now_s()
        passed_s = now_s - self._looked_s
        if passed_s < self._look_s:
            return
        self._looked_s = now_s
        for receiver, totals in enumerate(self._ask()):
            if totals is not None:
                self._said[receiver] = sum(n for channel, n in totals.items() if channel in self._channels)
        self._received = sum(self._said.values())
        before, since_s = self._round
        if passed_s > _STALE_S:
            self._round = self._received, now_s
        elif self._received - before >= self._limit:  # receivers say what they have done in jumps
            wanted = round((self._received - before) / (now_s - since_s) * _ON_THE_WAY_S)
            self._limit = max(_LEAST, self._limit // 2, min(wanted, self._limit * _WIDENING))
            self._round = self._received, now_s


class Pieces:
    """How many records a task takes at once: fewer where each is long work.

    :param singly: so many come one by one at first, however quick they are. What is slow about a program may
        depend on the record, and a small collection is all there is.
    """

    def __init__(self, most: int = _MOST, singly: int = 0) -> None:
        self.records = 1
        self._most = most
        self._singly = singly  # are still to come
        self._cost_s = 0.0  # that a record may have, as far as is known

    @property
    def come_singly(self) -> bool:
        """Whether the first ones are not over."""
        return self._singly > 0

    def worked(self, records: int, seconds: float) -> None:
        """So many were processed in so much time."""
        if records:
            # A record behind a slow one may be slow, too, though some between are not: what is in a piece
            # with it would leave when it is done.
            self._cost_s = max(seconds / records, self._cost_s * _FORGETTING, 1e-9)
            self._singly -= records
            if self._singly <= 0:
                most = min(self._most, int(_PIECE_S / self._cost_s))
                self.records = max(1, min(most, self.records * _GROWTH))


class Progress:
    """Of a task that receives: says how much it has processed, not too often and only news.

    :param received: how much that is.
    :param say: tells it to those who send.
    """

    def __init__(
        self,
        received: Callable[[], Totals],
        say: Callable[[Totals], None],
        every_s: float,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._received = received
        self._say = say
        self._every_s = every_s
        self._now_s = now_s
        self._is_news = False
        self._said_s = 0.0

    @property
    def every_ms(self) -> float:
        return self._every_s * 1000

    def made(self) -> None:
        """Something was processed."""
        self._is_news = True

    def is_due(self) -> bool:
        """Say it, unless that was done a moment ago; whether it is still to be said."""
        if not self._is_news:
            return False
        now_s = self._now_s()
        if now_s - self._said_s < self._every_s:
            return True
        self._is_news, self._said_s = False, now_s
        self._say(self._received())
        return False
