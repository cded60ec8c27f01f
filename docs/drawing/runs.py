"""What a run of a scene finds: its elements, which of them are late, and what fires when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from docs.drawing.scenes import Clock, Event, Scene
from firesteel.testing import END_OF_TIME, OperatorHarness, StreamRecord, Watermark


@dataclass(frozen=True, slots=True)
class Element:
    number: int  # in the order of arrival
    value: Any
    time: int  # what the axis shows: timestamp, or processing time when it came
    key: Any
    input: int

    @property
    def label(self) -> str:
        last = self.value[-1] if isinstance(self.value, tuple) else self.value
        return f"{last:g}" if isinstance(last, float) else str(last)


@dataclass(frozen=True, slots=True)
class Firing:
    number: int  # from 1
    step: int  # of the feed
    key: Any
    window: Any
    members: tuple[int, ...]  # numbers of elements


@dataclass
class Run:
    scene: Scene
    elements: dict[int, Element] = field(default_factory=dict, init=False)  # by step
    firings: list[Firing] = field(default_factory=list, init=False)
    late: set[int] = field(default_factory=set, init=False)

    @property
    def timed(self) -> bool:
        """Whether it can be shown along time."""
        return True

    @property
    def in_processing_time(self) -> bool:
        return any(isinstance(fed.event, Clock) for fed in self.scene.feed)

    @property
    def last_clock(self) -> int:
        return max(fed.event.time for fed in self.scene.feed if isinstance(fed.event, Clock))

    def watermarks(self) -> list[int]:
        """Without that of the end."""
        events = [fed.event for fed in self.scene.feed]
        return [e.timestamp for e in events if isinstance(e, Watermark) and e != END_OF_TIME]


def feed(harness: OperatorHarness, event: Event, value: Any, number: int = 0) -> None:
    """``value``: what a record has in this harness; ``number``: of its input."""
    match event:
        case StreamRecord(_, timestamp):
            harness.inputs[number].process_element(value, timestamp)
        case Clock(time):
            harness.set_processing_time(time)
        case Watermark(timestamp) if event != END_OF_TIME:
            harness.process_watermark(timestamp)
        case _:
            harness.end_input()
