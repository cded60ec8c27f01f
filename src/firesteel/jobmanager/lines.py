"""The state lines of a job: what is committed, and which files it still needs (I3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from firesteel.runtime.program import Ack
from firesteel.state.files import StateFiles
from firesteel.state.line import EMPTY, EpochDelta, RunRef, StateLine, advance

Subtask = tuple[str, int]  # vertex id, subtask


class StateLines:
    """One line for each subtask with state. A commit writes the small deltas of an epoch into one file.

    :param lines: the state to begin with.
    """

    def __init__(self, files: StateFiles, lines: Mapping[Subtask, StateLine] | None = None) -> None:
        self._files = files
        self._lines: dict[Subtask, StateLine] = dict(lines or {})
        self._references: Counter[str] = Counter()
        for line in self._lines.values():
            self._references.update({ref.path for ref in line.runs})

    def of(self, subtask: Subtask) -> StateLine:
        return self._lines.get(subtask, EMPTY)

    @property
    def entries(self) -> int:
        return sum(line.entries for line in self._lines.values())

    def commit(self, manifest_id: str, acks: list[Ack]) -> None:
        """Advance all lines to ``manifest_id`` and delete what no line needs any more."""
        stateful = [(ack, ack.delta) for ack in acks if ack.delta is not None]
        runs = self._write_inline(manifest_id, stateful)
        for ack, delta in stateful:
            key = (ack.vertex, ack.subtask)
            old = self.of(key)
            line, _ = advance(old, manifest_id, runs.get(key, delta.run), delta.compaction)
            self._lines[key] = line
            self._references.update({ref.path for ref in line.runs})
            self._references.subtract({ref.path for ref in old.runs})
        for path in [p for p, n in self._references.items() if n <= 0]:
            del self._references[path]
            self._files.delete(path)

    def _write_inline(
        self, manifest_id: str, stateful: list[tuple[Ack, EpochDelta]]
    ) -> dict[Subtask, RunRef]:
        name = f"epoch-{manifest_id}"
        parts: list[bytes] = []
        refs: dict[Subtask, RunRef] = {}
        offset = 0
        for ack, delta in stateful:
            if delta.payload is not None:
                refs[ack.vertex, ack.subtask] = delta.ref(name, offset)
                parts.append(delta.payload)
                offset += len(delta.payload)
        if parts:
            self._files.write_once(name, b"".join(parts))
        return refs
