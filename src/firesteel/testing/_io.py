"""The ends of a harness: what is fed into an input, and what is read of an output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.connectors.base import ReadRange, Split
from firesteel.graph.job_graph import JobGraph
from firesteel.jobmanager.lines import Subtask
from firesteel.program.checks import require_int
from firesteel.runtime.batch import Batch
from firesteel.runtime.gate import Gate
from firesteel.runtime.program import SourceAssignment
from firesteel.runtime.user_code import UserCode
from firesteel.runtime.wire import WireRow, channel_id, edge_of
from firesteel.testing.events import Event, StreamRecord, Watermark, WatermarkStatus, from_batch
from firesteel.testing.scripted_source import ScriptPart

_NO_LIMIT: Final = sys.maxsize


class HarnessInput:
    """One input of a harness. Each call is an epoch of its own, unless it stands in ``harness.epoch()``.

    A *channel* is what one subtask before the input sends; the watermark of the input is that of its slowest
    active channel.
    """

    def __init__(self, number: int, vertex: str, channels: int, fed: Callable[[], None]) -> None:
        self._number = number
        self._vertex = vertex
        self._fed = fed
        self._splits = [Split(f"channel-{channel}") for channel in range(channels)]
        self._pending: list[list[Event]] = [[] for _ in range(channels)]
        self._ending: set[int] = set()
        self._ended: set[int] = set()
        self._announced = False

    def process_element(self, value: Any, timestamp: int | None = None, *, channel: int = 0) -> None:
        """Feed a record with its event time (epoch ms, None: it has none)."""
        self._add(StreamRecord(value, timestamp), channel)

    def process_watermark(self, timestamp: int, *, channel: int | None = None) -> None:
        """Feed a watermark on one channel or (None) on all."""
        self._add(Watermark(timestamp), channel)

    def mark_idle(self, *, channel: int | None = None) -> None:
        """Say that a channel, or (None) every one, takes no part in the watermark."""
        self._add(WatermarkStatus.IDLE, channel)

    def mark_active(self, *, channel: int | None = None) -> None:
        """Say that a channel, or (None) every one, takes part in the watermark again. One that is behind is
        left out until it has caught up."""
        self._add(WatermarkStatus.ACTIVE, channel)

    def end_input(self, *, channel: int | None = None) -> None:
        """Nothing more comes on a channel or (None) on all. When all channels of all inputs have ended, event
        time comes to its end: event-time timers and windows fire, processing-time timers are dropped."""
        self._ending.update(self._open_channels(channel))
        self._fed()

    @property
    def has_ended(self) -> bool:
        """Whether all channels have ended."""
        return len(self._ended | self._ending) == len(self._splits)

    # ---- the harness's side

    def assignments(self) -> dict[Subtask, dict[str, SourceAssignment]]:
        """What the subtasks that stand before the input read in the next epoch."""
        return {
            (self._vertex, channel): {self._vertex: self._assignment(channel)}
            for channel in range(len(self._splits))
        }

    def accept(self) -> None:
        """The epoch was committed."""
        self._announced = True
        self._ended |= self._ending
        self.discard()

    def discard(self) -> None:
        """Forget what no epoch has taken."""
        for events in self._pending:
            events.clear()
        self._ending.clear()

    def _assignment(self, channel: int) -> SourceAssignment:
        split, events, end = self._splits[channel], self._pending[channel], channel in self._ending
        ranges: tuple[ReadRange, ...] = ()
        if events or end:
            part = ScriptPart(tuple(events), len(events), end)
            ranges = (ReadRange(split, None, _NO_LIMIT, _NO_LIMIT, part),)
        new_splits = () if self._announced else (split.id,)
        return SourceAssignment(ranges, new_splits, end or channel in self._ended)

    def _add(self, event: Event, channel: int | None) -> None:
        for number in self._open_channels(channel):
            self._pending[number].append(event)
        self._fed()

    def _open_channels(self, channel: int | None) -> list[int]:
        """The channels that are meant; ProgramError when one of them has ended."""
        ended = self._ended | self._ending
        if channel is None:
            channels = [number for number in range(len(self._splits)) if number not in ended]
        else:
            require_int(channel, "channel", 0, len(self._splits) - 1, f"input {self._number}")
            channels = [channel] if channel not in ended else []
        if not channels:
            part = "Input" if self.has_ended else f"Channel {channel} of input"
            raise ProgramError(
                f"{part} {self._number} has ended.", hint="nothing can be fed after end_input()"
            )
        return channels


class HarnessOutput:
    """What comes out of one stream, merged over its subtasks as the gate of the next operator does it."""

    def __init__(self, graph: JobGraph, vertex: str) -> None:
        edges = graph.vertex(vertex).inputs
        self._edges = {edge.id for edge in edges}
        channels = [
            channel_id(edge.id, producer)
            for edge in edges
            for producer in range(graph.vertex(edge.source_vertex).parallelism)
        ]
        self._gate = Gate(channels, self._arrived, UserCode(graph.vertex(vertex).name, vertex))
        self.events: list[Event] = []

    def take(self, rows: Iterable[WireRow]) -> None:
        """Take what is for this stream of the rows of an epoch."""
        for row in rows:
            if edge_of(row.channel) in self._edges:
                self._gate.receive(row.channel, self._gate.decode(row.body))

    def _arrived(self, batch: Batch) -> None:
        self.events.extend(from_batch(batch))
