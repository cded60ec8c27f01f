"""What an example is about: the operator that it builds, and what flows into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from docs.drawing.pages import Example
from firesteel.program import operators as ops
from firesteel.program.execution import set_executor
from firesteel.program.transformations import (
    OneInputTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
)
from firesteel.testing import (
    END_OF_TIME,
    OperatorHarness,
    ScriptedSource,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)


@dataclass(frozen=True, slots=True)
class Clock:
    """Processing time comes to ``time``."""

    time: int


Event = StreamRecord | Watermark | WatermarkStatus | Clock


@dataclass(frozen=True, slots=True)
class Fed:
    """An event and where it came in: the number of the input and of its channel (None: all of them)."""

    event: Event
    input: int = 0
    channel: int | None = 0
    out: tuple[StreamRecord | Watermark | WatermarkStatus, ...] = ()  # of a harness: what came out then


@dataclass(slots=True)
class Scene:
    """``in_order``: the events came in this order; else several sources gave them, each in its order."""

    operator: OneInputTransformation | TwoInputTransformation | None
    feed: list[Fed] = field(default_factory=list)
    inputs: Sequence[str] = ("",)  # their names
    in_order: bool = True


class _Program(Exception):
    def __init__(self, transformations: Sequence[Transformation]) -> None:
        super().__init__()
        self.transformations = transformations


class _Executor:
    """Takes the program instead of running it."""

    def execute(self, env: Any, program: Sequence[Transformation], job_name: str | None) -> Any:
        raise _Program(program)


class _Harness(OperatorHarness):
    """The harness of an example, and what the example fed to it."""

    last: _Harness

    def __init__(self, under_test: Any, **options: Any) -> None:
        _Harness.last = self
        self.feed: list[Fed] = []
        self.built: list[Transformation] = []
        self.names: Sequence[str] = ("",)
        if "key_by" not in options:
            under_test = self._watched(under_test, options)
        super().__init__(under_test, **options)

    def _watched(self, build: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
        self.names = build.__code__.co_varnames[: build.__code__.co_argcount]
        options.setdefault("inputs", len(self.names))

        def watched(*streams: Any) -> Any:
            result = build(*streams)
            self.built = [result._transformation]
            return result

        return watched

    @property
    def inputs(self) -> Any:
        return tuple(_Input(self, each, number) for number, each in enumerate(super().inputs))

    def process_element(self, value: Any, timestamp: int | None = None, *, channel: int = 0) -> None:
        with self.noting(StreamRecord(value, timestamp), 0, channel):
            super().process_element(value, timestamp, channel=channel)

    def process_watermark(self, timestamp: int, *, channel: int | None = None) -> None:
        with self.noting(Watermark(timestamp), 0, channel):
            super().process_watermark(timestamp, channel=channel)

    def mark_idle(self, *, channel: int | None = None) -> None:
        with self.noting(WatermarkStatus.IDLE, 0, channel):
            super().mark_idle(channel=channel)

    def mark_active(self, *, channel: int | None = None) -> None:
        with self.noting(WatermarkStatus.ACTIVE, 0, channel):
            super().mark_active(channel=channel)

    def set_processing_time(self, timestamp: int) -> None:
        with self.noting(Clock(timestamp)):
            super().set_processing_time(timestamp)

    @contextmanager
    def noting(self, event: Event, number: int = 0, channel: int | None = None) -> Iterator[None]:
        before = len(self.output)
        yield
        self.feed.append(Fed(event, number, channel, tuple(self.output[before:])))


class _Input:
    """One input of the harness of an example."""

    def __init__(self, harness: _Harness, real: Any, number: int) -> None:
        self._harness, self._real, self._number = harness, real, number

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        with self._harness.noting(StreamRecord(value, timestamp), self._number):
            self._real.process_element(value, timestamp)

    def __getattr__(self, name: str) -> Any:  # the harness itself feeds its inputs
        return getattr(self._real, name)


def scene_of(example: Example) -> Scene:
    """Run the example up to where its program is known, or to its end when it is one with a harness."""
    before = set_executor(_Executor())
    try:
        with patch("firesteel.testing.OperatorHarness", _Harness), patch("builtins.print"):
            exec(compile(example.code, f"{example.name}.py", "exec"), {"__name__": example.name})
    except _Program as program:
        return _of_program(program.transformations)
    finally:
        set_executor(before)
    harness = _Harness.last
    return Scene(_operator(harness.built), harness.feed, harness.names)


def _of_program(transformations: Sequence[Transformation]) -> Scene:
    """The scripts of the sources, each to its end."""
    sources = sorted((t for t in transformations if isinstance(t, SourceTransformation)), key=lambda t: t.id)
    names = [source.name.removeprefix("Source: ") for source in sources]
    feed = [
        Fed(event, number, channel)
        for number, source in enumerate(sources)
        for channel, script in enumerate(_scripts(source))
        for event in script
    ]
    feed.append(Fed(END_OF_TIME, 0, None))
    return Scene(_operator(transformations), feed, names, in_order=len(sources) == 1)


def _scripts(source: SourceTransformation) -> list[list[Any]]:
    assert isinstance(source.source, ScriptedSource), "a picture needs a source whose records are known"
    return source.source._scripts


def _operator(
    transformations: Sequence[Transformation],
) -> OneInputTransformation | TwoInputTransformation | None:
    """The window or join nearest to the sources."""
    seen: list[Transformation] = []
    waiting = list(transformations)
    while waiting:
        transformation = waiting.pop()
        seen.append(transformation)
        waiting.extend(transformation.inputs)
    with_operator = (OneInputTransformation, TwoInputTransformation)
    drawn = (ops.Window, ops.IntervalJoin)
    found = [t for t in seen if isinstance(t, with_operator) and isinstance(t.operator, drawn)]
    return min(found, key=lambda t: t.id, default=None)
