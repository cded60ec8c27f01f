"""Which state files somebody still needs (Flink: ``SharedStateRegistry``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from firesteel.state.files import StateFiles


class SharedFiles:
    """Counts who refers to a state file: the job as it runs, and each checkpoint that is kept. A file that
    nobody refers to any more is deleted.

    :param owned: files elsewhere that begin with one of these are the job's own too; all others elsewhere
        belong to somebody else (a savepoint, the checkpoint of another job) and are never deleted.
    """

    def __init__(self, files: StateFiles, owned: Collection[str] = ()) -> None:
        self._files = files
        self._owned = tuple(owned)
        self._claimed: tuple[str, ...] = ()
        self._references: Counter[str] = Counter()

    def acquire(self, paths: Iterable[str]) -> None:
        """``paths`` are needed by one more; each counts once for each call."""
        self._references.update(set(paths))

    def release(self, paths: Iterable[str]) -> None:
        """One of those who needed ``paths`` does not any more."""
        for path in set(paths):
            self._references[path] -= 1
            if self._references[path] <= 0:
                del self._references[path]
                if self.is_own(path):
                    self._files.delete(path)

    def __contains__(self, path: object) -> bool:
        return path in self._references

    @property
    def claimed(self) -> tuple[str, ...]:
        """Directories of other jobs' snapshots that are the job's own now."""
        return self._claimed

    def claim(self, directories: Iterable[str]) -> None:
        """From here on files below these are the job's own."""
        self._claimed = tuple(sorted({*self._claimed, *directories}))

    def delete_claimed(self) -> None:
        """The job is over: nobody needs anything that it has claimed."""
        for path in [path for path in self._references if path.startswith(self._claimed)]:
            self._files.delete(path)

    def is_own(self, path: str) -> bool:
        elsewhere = path.startswith("/") or "://" in path
        return not elsewhere or path.startswith((*self._owned, *self._claimed))
