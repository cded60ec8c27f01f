"""The local store of a subtask on one host (written next)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from firesteel.state.line import DeltaRef, StateLine

Slices = Callable[[DeltaRef], Iterator[tuple[list[bytes], list[bytes]]]]


class LocalStoreKey(NamedTuple):
    local_dir: str
    job_id: str
    attempt: str
    vertex_id: str
    subtask: int


class LocalStore:
    complete: bool = False

    def __init__(self, key: LocalStoreKey, key_groups: range) -> None: ...

    def catch_up(self, line: StateLine, slices: Slices) -> bool:
        return False

    def get(self, key: bytes) -> bytes | None:
        return None

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def close(self) -> None: ...
