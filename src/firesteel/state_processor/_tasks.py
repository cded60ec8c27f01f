"""What a ``SavepointWriter`` lets tasks do; answers are lines of state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from firesteel.jobmanager.shipping import opened
from firesteel.state.canonical import Part, rewritten, states_of
from firesteel.state.catalog import CatalogEntry
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state_processor._dealing import batches_of_portions
from firesteel.state_processor._snapshot import FILES


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One subtask of an operator: what it keeps, and what was made for it."""

    uid: str
    subtask: int
    groups: range
    root: str
    old: StateLine | None
    states: Mapping[bytes, CatalogEntry]
    becomes: Mapping[bytes, CatalogEntry]
    new: tuple[StateLine, ...]

    def run(self) -> StateLine | None:
        target = StateFiles(self.root)
        parts = [Part(line, target, states_of([line], target)) for line in self.new]
        if self.old is not None:
            parts.insert(0, Part(self.old, FILES, self.states, self.becomes))
        return rewritten(parts, self.groups, target, f"state-{self.subtask}").get(self.uid)


def deal(data: bytes, partition: int, batches: Any) -> Any:
    return opened(data).deal(partition, batches)


def run(data: bytes, subtask: int, bodies: Any) -> bytes:
    return msgspec.msgpack.encode(opened(data).run(subtask, batches_of_portions(bodies)))


def rewrite(data: bytes, number: int) -> bytes:
    return msgspec.msgpack.encode(opened(data)[number].run())


def line_of(answer: bytes) -> StateLine | None:
    return msgspec.msgpack.decode(answer, type=StateLine | None)
