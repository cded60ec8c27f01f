"""Cache of a reader's open files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final, Generic, Protocol, TypeVar

from firesteel.program.sources import Chunk, Chunks, ReadRange, Split

_KEPT: Final = 16


class _Closable(Protocol):
    def close(self) -> None: ...


F = TypeVar("F", bound=_Closable)


class OpenFiles(Generic[F]):
    """Holds one open file for each split being read, because ranges of several splits are read in turns. The
    last one used stays open, since the next range usually continues there. This is a cache, never state."""

    def __init__(self, open_file: Callable[[Split], F]) -> None:
        self._open = open_file
        self._free: dict[str, F] = {}  # files not being read, least recently used first
        self._closed = False

    def read(self, range_: ReadRange, read: Callable[[F, ReadRange], Chunks]) -> Iterator[Chunk]:
        """Yield the chunks that *read* produces for a range. The file is closed when its split ends or *read*
        fails."""
        split = range_.split
        file = self._free.pop(split.id, None) or self._open(split)
        ended = False
        try:
            with closing(read(file, range_)) as chunks:
                for chunk in chunks:
                    ended = chunk.end
                    yield chunk
        except GeneratorExit:  # the range was not read to its end
            self._give_back(split, file, ended)
            raise
        except BaseException:  # its position is unknown
            file.close()
            raise
        self._give_back(split, file, ended)

    def _give_back(self, split: Split, file: F, ended: bool) -> None:
        if ended:
            file.close()
            return
        self._free[split.id] = file
        self._close_all_but(0 if self._closed else _KEPT)

    def _close_all_but(self, kept: int) -> None:
        while len(self._free) > kept:
            self._free.pop(next(iter(self._free))).close()

    def close(self) -> None:
        self._closed = True
        self._close_all_but(0)
