"""Reads several sources in sequence (Flink: ``HybridSource``, FLIP-150)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.errors import ConfigurationError
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourcePromise,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import join
from firesteel.storage.records import record


@dataclass(frozen=True, slots=True)
class SourcesInTurn(Source):
    """Reads ``sources`` in sequence, each to its end before the next one is opened: for example files,
    followed by the topic that continues where they end.

    All but the last must be bounded. A source discovers its splits when its turn comes.
    """

    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise ConfigurationError("A hybrid source needs at least one source.")
        for number, source in enumerate(self.sources[:-1], start=1):
            if source.boundedness is not Boundedness.BOUNDED:
                raise ConfigurationError(
                    f"Source {number} of a hybrid source never ends: the next one would never begin.",
                    detail=f"it is {source.description}, of {len(self.sources)} sources",
                    hint="give it an end (set_bounded), or put it last",
                )

    @property
    def boundedness(self) -> Boundedness:
        return self.sources[-1].boundedness

    @property
    def max_parallelism(self) -> int | None:
        return min((p for s in self.sources if (p := s.max_parallelism) is not None), default=None)

    @property
    def description(self) -> str:
        return f"Hybrid({', '.join(source.description for source in self.sources)})"

    def promise(self, checkpointing: bool) -> SourcePromise:
        """Promise what the weakest of the sources does."""
        promised = {source.promise(checkpointing) for source in self.sources}
        weakest = (SourcePromise.AT_MOST_ONCE, SourcePromise.AT_LEAST_ONCE)
        return next((weak for weak in weakest if weak in promised), SourcePromise.EXACTLY_ONCE)

    def validate(self) -> None:
        for source in self.sources:
            source.validate()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _HybridEnumerator(self.sources, context)

    def create_reader(self) -> SourceReader:
        return _HybridReader([source.create_reader() for source in self.sources])


@record("hybrid part")
@dataclass(frozen=True, slots=True)
class _Part:
    """A split of source number ``source``."""

    source: int
    split: Split


def _outer(source: int, split: Split) -> Split:
    return Split(f"{source}:{split.id}", _Part(source, split))


class _HybridEnumerator(SplitEnumerator):
    """Wraps the enumerator of the current source; all splits of the previous sources have ended."""

    def __init__(self, sources: tuple[Source, ...], context: EnumeratorContext) -> None:
        self._sources = sources
        self._context = context
        self._turn = 0
        self._current = self._enumerator(0)
        self._open: set[str] = set()  # splits of the current source, by their ids here
        self._ended: set[str] = set()

    def _enumerator(self, turn: int) -> SplitEnumerator:
        work_dir = join(self._context.work_dir, str(turn))
        return self._sources[turn].create_enumerator(replace(self._context, work_dir=work_dir))

    def open(self) -> None:
        self._current.open()

    def close(self) -> None:
        self._current.close()

    def discover(self, now_ms: int) -> list[Split]:
        found = self._discover(now_ms)
        while not self._open and self._current.finished and self._turn + 1 < len(self._sources):
            self._current.close()
            self._turn += 1
            self._current = self._enumerator(self._turn)
            self._ended.clear()
            self._current.open()
            found += self._discover(now_ms)
        return found

    def _discover(self, now_ms: int) -> list[Split]:
        found = [_outer(self._turn, split) for split in self._current.discover(now_ms)]
        self._open.update(split.id for split in found if split.id not in self._ended)
        return found

    @property
    def finished(self) -> bool:
        return self._turn + 1 == len(self._sources) and self._current.finished

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        range_ = self._current.plan(split.payload.split, position, max_records, max_bytes, now_ms)
        return None if range_ is None else replace(range_, split=_outer(self._turn, range_.split))

    def next_data_ms(self, now_ms: int) -> int | None:
        return self._current.next_data_ms(now_ms)

    def split_ended(self, split: Split) -> None:
        self._open.discard(split.id)
        self._ended.add(split.id)
        self._current.split_ended(split.payload.split)

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        mine = f"{self._turn}:"
        self._current.checkpoint_completed(
            {split.removeprefix(mine): at for split, at in positions.items() if split.startswith(mine)}
        )

    def pending_records(self) -> Mapping[str, int]:
        return {f"{self._turn}:{split}": n for split, n in self._current.pending_records().items()}

    def snapshot(self) -> Any:
        return {
            "turn": self._turn,
            "current": self._current.snapshot(),
            "open": frozenset(self._open),
            "ended": frozenset(self._ended),
        }

    def restore(self, state: Any) -> None:
        self._turn = state["turn"]
        if self._turn >= len(self._sources):
            raise ConfigurationError(
                f"The job was in source {self._turn + 1} of a hybrid source that has only "
                f"{len(self._sources)} now.",
                hint="sources can be added after the last one, but not removed",
            )
        self._current = self._enumerator(self._turn)
        if state["current"] is not None:
            self._current.restore(state["current"])
        self._open, self._ended = set(state["open"]), set(state["ended"])


class _HybridReader(SourceReader):
    """Opens the reader of a source with its first range."""

    def __init__(self, readers: list[SourceReader]) -> None:
        self._readers = readers
        self._opened: set[int] = set()

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        part: _Part = range_.split.payload
        reader = self._readers[part.source]
        if part.source not in self._opened:
            reader.open()
            self._opened.add(part.source)
        return reader.read(replace(range_, split=part.split))

    def close(self) -> None:
        for source in sorted(self._opened):
            self._readers[source].close()
        self._opened.clear()
