"""A source that plays a script, for tests of whole jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from firesteel.common.errors import ProgramError
from firesteel.connectors._splits import FixedSplits
from firesteel.connectors.base import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.program.checks import require_int
from firesteel.testing.events import Event, StreamRecord, Watermark, WatermarkStatus, not_an_event, to_batch

__all__ = ["ScriptPart", "ScriptedSource", "WaitUntil"]

_CHUNK_EVENTS: Final = 1000


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """In a script: what follows is there when the job's clock comes to ``processing_time`` (epoch ms), in an
    epoch of its own."""

    processing_time: int


Step: TypeAlias = Event | WaitUntil


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """What one epoch plays of one script. It travels in the range, so that whoever reads it again reads the
    same."""

    events: tuple[Event, ...]
    position: int  # where the script goes on
    end: bool


class ScriptReader(SourceReader):
    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        part: ScriptPart = range_.stop
        first = part.position - len(part.events)  # of the script: what waits comes before the events
        begin = max(0, (range_.position or 0) - first)
        end = min(len(part.events), begin + range_.max_records)
        for start in range(begin, max(begin + 1, end), _CHUNK_EVENTS):
            stop = min(end, start + _CHUNK_EVENTS)
            batch = to_batch(part.events[start:stop])
            stamps = None if batch.timestamps is None else list(batch.timestamps)
            is_last = part.end and stop == len(part.events)
            yield Chunk(batch.values, stamps, first + stop, is_last, batch.marks)


class ScriptedSource(Source):
    """Plays one script for each split: records with their timestamps, and the split's own watermarks and
    idleness (give it ``WatermarkStrategy.no_watermarks()``, or a strategy that is under test).

    :param scripts: the steps of each split: ``StreamRecord``, ``Watermark``, ``WatermarkStatus``,
        ``WaitUntil``.
    :param bounded: False: the source goes on when the scripts are played, until ``end`` is called.

    The source remains in the process that runs the job, and ``send`` adds to a script while the job runs.
    It is played once: each job needs a source of its own.

    >>> source = ScriptedSource(
    ...     [StreamRecord("a", 1), Watermark(1)],
    ...     [WatermarkStatus.IDLE, WaitUntil(5_000), WatermarkStatus.ACTIVE, StreamRecord("b", 2)],
    ... )
    """

    def __init__(self, *scripts: Iterable[Step], bounded: bool = True) -> None:
        if not scripts:
            raise ProgramError(
                "A scripted source needs at least one script.",
                hint="one for each split; an empty list when events are sent later",
            )
        self._bounded = bounded
        self._ended = bounded
        self._scripts: list[list[Step]] = [_checked(script) for script in scripts]

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return len(self._scripts)

    @property
    def description(self) -> str:
        return "Script"

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Director(self._scripts, self)

    def create_reader(self) -> SourceReader:
        return ScriptReader()

    @property
    def ended(self) -> bool:
        """Whether nothing will be added to the scripts."""
        return self._ended

    def send(self, *steps: Step, split: int = 0) -> None:
        """Add to the script of ``split``; the job sees it before its next epoch, at the latest 100 ms of its
        clock later."""
        if self._ended:
            raise ProgramError(
                "The scripts of this source have ended.",
                hint="make it with ScriptedSource(..., bounded=False), and send before end()",
            )
        require_int(split, "split", 0, len(self._scripts) - 1)
        self._scripts[split].extend(_checked(steps))

    def end(self) -> None:
        """Nothing will be added: the source ends when its scripts are played."""
        self._ended = True


class _Director(FixedSplits):
    """Hands each script out piece by piece."""

    def __init__(self, scripts: Sequence[Sequence[Step]], source: ScriptedSource) -> None:
        super().__init__([Split(f"script-{number}", number) for number in range(len(scripts))])
        self._scripts = scripts
        self._source = source
        self._waiting: dict[str, int] = {}

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        self._waiting.pop(split.id, None)
        ended = self._source.ended  # before the length: what is sent meanwhile is not missed
        script = self._scripts[split.payload]
        at = start = position or 0
        events: list[Event] = []
        while at < len(script) and len(events) < max_records:
            step = script[at]
            if isinstance(step, WaitUntil):
                if events:
                    break
                if step.processing_time > now_ms:
                    self._waiting[split.id] = step.processing_time
                    break
            else:
                events.append(step)
            at += 1
        end = ended and at == len(script)
        if at == start and not end:
            return None
        return ReadRange(split, position, max_records, max_bytes, ScriptPart(tuple(events), at, end))

    def next_data_ms(self, now_ms: int) -> int | None:
        """When the first of the scripts goes on; None while something may be sent."""
        return min(self._waiting.values(), default=None) if self._source.ended else None


def _checked(steps: Iterable[Step]) -> list[Step]:
    steps = list(steps)
    for step in steps:
        if not isinstance(step, (StreamRecord, Watermark, WatermarkStatus, WaitUntil)):
            raise not_an_event(step)
    return steps
