"""Finds the files of a file source, once or repeatedly.

(Flink: ``NonSplittingRecursiveEnumerator``, ``ContinuousFileSplitEnumerator``.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import ConfigurationError, PathNotFoundError
from firesteel.connectors.files.file_bytes import extension_of_compression
from firesteel.program.sources import ReadRange, Split, SplitEnumerator
from firesteel.storage.filesystems import FileInfo, Storage, expand, has_glob, resolve, walk
from firesteel.storage.records import record


@record("file range")
@dataclass(frozen=True, slots=True)
class FileRange:
    """The lines of a file that begin in ``[start, end)``; ``size`` is the size of the file when it was
    discovered."""

    path: str
    start: int
    end: int
    size: int


def check_paths(paths: tuple[str, ...], watched: bool) -> None:
    """Raise if a path does not exist. For a watched source, a pattern may match nothing yet."""
    for path in paths:
        storage, inner = resolve(path)
        found = expand(storage, inner)
        for info in found:
            _require_file(info)
        if found or (watched and has_glob(inner)):
            continue
        if has_glob(inner):
            raise PathNotFoundError(f"no file matches {path}", hint="check the pattern and where it starts")
        raise PathNotFoundError(
            f"path does not exist: {path}",
            detail=None if inner == path else f"looked for {inner}",
            hint="workers of a cluster need a path that every host can reach",
        )


def check_options(paths: tuple[str, ...], discovery_interval_ms: int | None, split_bytes: int | None) -> None:
    if not paths:
        raise ConfigurationError("a file source needs at least one path")
    for path in paths:
        if not isinstance(path, str) or not path:
            raise ConfigurationError(f"the path of a file source is not a text: {path!r}")
    if discovery_interval_ms is not None and discovery_interval_ms <= 0:
        raise ConfigurationError(f"the discovery interval is not above 0 ms: {discovery_interval_ms}")
    if split_bytes is not None and split_bytes <= 0:
        raise ConfigurationError(f"the size of a split is not above 0 bytes: {split_bytes}")


def _files(path: str) -> Iterator[FileInfo]:
    storage, inner = resolve(path)
    for info in expand(storage, inner):
        yield from _below(storage, info)


def _below(storage: Storage, info: FileInfo) -> Iterator[FileInfo]:
    for found in walk(storage, info.path) if info.is_dir else (info,):
        _require_file(found)
        yield found


def _require_file(info: FileInfo) -> None:
    """Raise for anything without a definite end, such as a named pipe: the job would hang or lose data."""
    if info.special:
        raise ConfigurationError(
            f"{info.path} is {info.special} and not a file",
            hint="a file source reads files, whose size is known: give their paths",
        )


def _require_nothing(info: FileInfo) -> None:
    """Raise if a file of size 0 has content, which would be lost: a kernel file, as in /proc, or one that is
    being written in the watched directory."""
    storage, inner = resolve(info.path)
    with storage.open_input(inner) as file:
        if file.read(1):
            raise ConfigurationError(
                f"{info.path} holds data, though its size was 0 when it was found",
                hint="a file must be complete when it appears: write or copy it elsewhere, and move it here",
            )


class FileEnumerator(SplitEnumerator):
    """Reads each file once, under the path and with the size it had when it was first seen.

    Data appended later, or a changed modification time, is ignored (Flink remembers paths too). Files
    discovered at the same time are read in the order of their modification times. A subtask reads one file
    after the other, as Flink's readers do.

    :param wanted: whether a file is read, by its path.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        discovery_interval_ms: int | None,
        split_bytes: int | None,
        wanted: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self._paths = paths
        self._interval_ms = discovery_interval_ms
        self._split_bytes = split_bytes
        self._wanted = wanted
        self._seen: set[str] = set()
        self._next_look_ms: int | None = None
        self._done = False

    def open(self) -> None:
        if not self._done and not self._seen:
            check_paths(self._paths, self._interval_ms is not None)

    def discover(self, now_ms: int) -> list[Split]:
        if self._done or (self._next_look_ms is not None and now_ms < self._next_look_ms):
            return []
        found = []
        for path in self._paths:
            for info in _files(path):
                if info.path not in self._seen and self._wanted(info.path):
                    self._seen.add(info.path)
                    found.append(info)
        if self._interval_ms is None:
            self._done = True
        else:
            self._next_look_ms = now_ms + self._interval_ms
            found.sort(key=lambda info: (info.modified_ms, info.path))
        return [split for info in found for split in self._splits(info)]

    def _splits(self, info: FileInfo) -> Iterator[Split]:
        size, step = info.size, self._split_bytes
        if not size:
            _require_nothing(info)
        if step is None or step >= size or extension_of_compression(info.path) is not None:
            yield Split(info.path, FileRange(info.path, 0, size, size))
            return
        for start in range(0, size, step):
            yield Split(f"{info.path}@{start}", FileRange(info.path, start, min(start + step, size), size))

    @property
    def finished(self) -> bool:
        return self._done

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        return ReadRange(split, position, max_records, max_bytes, in_turn=True)

    def next_data_ms(self, now_ms: int) -> int | None:
        return self._next_look_ms

    def snapshot(self) -> Any:
        return {"seen": sorted(self._seen), "done": self._done}

    def restore(self, state: Any) -> None:
        self._seen = set(state["seen"])
        self._done = state["done"]
