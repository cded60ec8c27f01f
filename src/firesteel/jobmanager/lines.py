"""The state lines of a job: what is committed, and which files it still needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from firesteel.jobmanager.checkpoints.registry import SharedFiles
from firesteel.runtime.program import Ack
from firesteel.state.files import StateFiles
from firesteel.state.line import EMPTY, EpochDelta, RunRef, StateLine, advance, renamed

Subtask = tuple[str, int]  # vertex id, subtask


class StateLines:
    """One line for each subtask with state. A commit writes the small deltas of an epoch into one file.

    :param lines: the state to begin with.
    :param shared: who else may need the files; None: nobody.
    """

    def __init__(
        self,
        files: StateFiles,
        lines: Mapping[Subtask, StateLine] | None = None,
        shared: SharedFiles | None = None,
    ) -> None:
        self._files = files
        self._lines: dict[Subtask, StateLine] = dict(lines or {})
        self._shared = SharedFiles(files) if shared is None else shared
        for line in self._lines.values():
            self._shared.acquire(_paths(line))

    def of(self, subtask: Subtask) -> StateLine:
        return self._lines.get(subtask, EMPTY)

    @property
    def entries(self) -> int:
        return sum(line.entries for line in self._lines.values())

    def commit(self, manifest_id: str, acks: list[Ack]) -> None:
        """Advance all lines to ``manifest_id`` and give up what they do not need any more."""
        stateful = [(ack, ack.delta) for ack in acks if ack.delta is not None]
        runs = self._write_inline(manifest_id, stateful)
        before: list[StateLine] = []
        for ack, delta in stateful:
            key = (ack.vertex, ack.subtask)
            before.append(self.of(key))
            line, _ = advance(before[-1], manifest_id, runs.get(key, delta.run), delta.compaction)
            self._lines[key] = line
            self._shared.acquire(_paths(line))
        for ack in acks:
            if ack.forgets and (old := self._lines.pop((ack.vertex, ack.subtask), None)) is not None:
                before.append(old)
        for line in before:  # when all have taken what they need: several lines share a file
            self._shared.release(_paths(line))

    def rename(self, path_of: Callable[[str], str]) -> None:
        """The same files are elsewhere, too: from here on the lines refer to them there."""
        for key, line in self._lines.items():
            self._lines[key] = renamed(line, path_of)
            self._shared.acquire(_paths(self._lines[key]))
            self._shared.release(_paths(line))

    def release(self) -> None:
        """The job does not go on from these lines."""
        for line in self._lines.values():
            self._shared.release(_paths(line))
        self._lines.clear()

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


def _paths(line: StateLine) -> set[str]:
    return {ref.path for ref in line.runs}
