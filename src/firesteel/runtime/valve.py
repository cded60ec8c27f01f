"""The watermark valve: the watermark of an operator is the minimum over its active channels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from firesteel.runtime.batch import ACTIVE, END, IDLE, MAX_WATERMARK, MIN_WATERMARK, Mark


class _Channel:
    __slots__ = ("aligned", "ended", "idle", "watermark")

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.idle = False
        self.aligned = True  # False: came back from idleness and has not caught up with the output
        self.ended = False


class WatermarkValve:
    """Merges the marks of several channels into those of one stream.

    A channel that is idle takes no part in the minimum. One that comes back with a watermark below the
    output is active, but stays out of the minimum until it has caught up; the output never goes back.
    (Flink: ``StatusWatermarkValve``.)
    """

    __slots__ = ("_channels", "_idle", "output")

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._channels = {channel: _Channel() for channel in channels}
        self.output = MIN_WATERMARK
        self._idle = False

    @property
    def is_idle(self) -> bool:
        return self._idle

    @property
    def is_ended(self) -> bool:
        return bool(self._channels) and all(c.ended for c in self._channels.values())

    def add_channel(self, channel: Hashable) -> list[Mark]:
        """A channel that appears while running (a new split); it is active and holds the output back."""
        if channel not in self._channels:
            self._channels[channel] = _Channel()
        return self._activate()

    def remove_channel(self, channel: Hashable) -> list[Mark]:
        """A channel that is gone (a split that was read to its end) no longer holds the output back."""
        state = self._channels.pop(channel)
        if self._has_active():
            return self._advance()
        if self._channels and not state.idle:
            self._idle = True
            return [IDLE]
        return []

    def feed(self, channel: Hashable, mark: Mark) -> list[Mark]:
        """The marks that the merged stream carries because of ``mark`` on ``channel``."""
        state = self._channels[channel]
        if type(mark) is int:
            return self._watermark(state, mark)
        if mark == IDLE:
            return self._become_idle(state)
        if mark == ACTIVE:
            return self._become_active(state)
        return self._end(state)

    def feed_all(self, channel: Hashable, marks: Iterable[tuple[int, Mark]]) -> list[tuple[int, Mark]]:  # hot
        """``feed`` for marks of one channel with their places."""
        state = self._channels[channel]
        lowest = self._lowest(beside=state)
        merged: list[tuple[int, Mark]] = []
        for at, mark in marks:
            if type(mark) is not int:
                merged += [(at, m) for m in self.feed(channel, mark)]
                continue
            if state.idle or mark <= state.watermark:
                continue
            state.watermark = mark
            if not state.aligned and mark >= self.output:
                state.aligned = True
            counts = state.aligned and not state.ended
            output = mark if counts and (lowest is None or mark < lowest) else lowest
            if output is not None and output > self.output:
                self.output = output
                merged.append((at, output))
        return merged

    def _lowest(self, beside: _Channel | None = None) -> int | None:  # hot
        """The least watermark of the channels that count, but for one; None: there is none."""
        lowest: int | None = None
        for c in self._channels.values():
            counts = c.aligned and not c.idle and not c.ended and c is not beside
            if counts and (lowest is None or c.watermark < lowest):
                lowest = c.watermark
        return lowest

    def _watermark(self, state: _Channel, watermark: int) -> list[Mark]:
        if state.idle or watermark <= state.watermark:
            return []
        state.watermark = watermark
        if not state.aligned and watermark >= self.output:
            state.aligned = True
        return self._advance()

    def _advance(self) -> list[Mark]:
        lowest = self._lowest()
        if lowest is None or lowest <= self.output:
            return []
        self.output = lowest
        return [lowest]

    def _become_idle(self, state: _Channel) -> list[Mark]:
        if state.idle or state.ended:
            return []
        held_back = state.aligned and state.watermark == self.output
        state.idle = True
        state.aligned = False
        if self._has_active():
            return self._advance()
        marks: list[Mark] = []
        if held_back:  # the last one to go idle held the output: flush what the others had reached
            highest = max(c.watermark for c in self._channels.values() if not c.ended)
            if highest > self.output:
                self.output = highest
                marks.append(highest)
        self._idle = True
        marks.append(IDLE)
        return marks

    def _has_active(self) -> bool:
        return any(not c.idle and not c.ended for c in self._channels.values())

    def _become_active(self, state: _Channel) -> list[Mark]:
        if not state.idle:
            return []
        state.idle = False
        state.aligned = state.watermark >= self.output
        return self._activate()

    def _activate(self) -> list[Mark]:
        if not self._idle:
            return []
        self._idle = False
        return [ACTIVE]

    def _end(self, state: _Channel) -> list[Mark]:
        # END stands for the maximal watermark too. A channel that has ended takes no part in the minimum:
        # its MAX must not let the output jump while another channel is idle but not at its end.
        if state.ended:
            return []
        marks: list[Mark] = self._become_active(state) if state.idle else []
        state.ended = True
        if self.is_ended:
            self.output = MAX_WATERMARK
            return [*marks, END]
        if self._has_active():
            return marks + self._advance()
        self._idle = True
        return [*marks, IDLE]

    def snapshot(self) -> tuple[Any, ...]:
        """Plain data that ``restore`` takes: the valve goes on in another process with the next epoch."""
        return (
            self.output,
            self._idle,
            {k: (c.watermark, c.idle, c.aligned, c.ended) for k, c in self._channels.items()},
        )

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        self.output, self._idle, channels = snapshot
        for key, (watermark, idle, aligned, ended) in channels.items():
            channel = self._channels[key] = _Channel()
            channel.watermark, channel.idle, channel.aligned, channel.ended = watermark, idle, aligned, ended
