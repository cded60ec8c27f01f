"""Handing what a writer made to the committer: inside the committable when it is small, else as a file.

Such a file is named by its content, so two attempts that write the same thing agree on the name, and the
committable depends on the records alone. It stays until the job removes its directory.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import Final

from firesteel.connectors._storage import join, resolve
from firesteel.connectors.base import Committable, WriterContext

INLINE_BYTES: Final = 64 << 10
_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Staged:
    """``data``, or the ``path`` of a file with it."""

    digest: str
    data: bytes | None
    path: str | None

    def load(self) -> bytes:
        if self.data is not None:
            return self.data
        assert self.path is not None, "what is not inline is in a file"
        storage, inner = resolve(self.path)
        with storage.open_input(inner) as file:
            return file.read()


def stage(data: bytes, context: WriterContext) -> Staged:
    digest = hashlib.sha256(data).hexdigest()[:32]
    if len(data) <= INLINE_BYTES:
        return Staged(digest, data, None)
    storage, base = resolve(context.epoch_dir)
    path = join(base, f"staged-{digest}")
    if storage.info(path) is None:
        storage.write(path, data)
    return Staged(digest, None, path)


class Seen:
    """The committables that this committer has handed on: committing an epoch again skips them. A new driver
    starts with none, so what it must commit again is handed on again."""

    def __init__(self) -> None:
        self._order: deque[tuple[int, int, str]] = deque()
        self._keys: set[tuple[int, int, str]] = set()

    def is_new(self, committable: Committable) -> bool:
        staged: Staged = committable.payload
        return (committable.epoch, committable.subtask_index, staged.digest) not in self._keys

    def add(self, committable: Committable) -> None:
        key = (committable.epoch, committable.subtask_index, committable.payload.digest)
        self._keys.add(key)
        self._order.append(key)
        if len(self._order) > _REMEMBERED:
            self._keys.discard(self._order.popleft())
