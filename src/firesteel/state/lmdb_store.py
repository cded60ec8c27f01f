"""The local store of a subtask on one host (written next)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from firesteel.state.line import DeltaRef, StateLine

Slices = Callable[[DeltaRef], Iterator[tuple[list[bytes], list[bytes]]]]


class LocalStore(Protocol):
    complete: bool

    def catch_up(self, line: StateLine, slices: Slices) -> bool: ...
    def get(self, key: bytes) -> bytes | None: ...
    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]: ...
    def close(self) -> None: ...
