"""BATCH mode: an operator without keys that reads one of its inputs to the end before the other begins."""

from __future__ import annotations

import tempfile
from typing import IO, Any, Final, Protocol

from firesteel.runtime.batch import END, Batch
from firesteel.runtime.wire import decode_batch, encode_batch

RECORDS_IN_MEMORY: Final = 500_000


class _TwoInputs(Protocol):
    def process(self, batch: Batch, input_index: int = 0) -> None: ...


class HeldInput:
    """Holds all other inputs back until the input ``first`` has ended.

    What does not fit in memory is spilled. The order within an input stays as it was.
    """

    def __init__(self, operator: _TwoInputs, first: int, records_in_memory: int = RECORDS_IN_MEMORY) -> None:
        self._operator = operator
        self._first = first
        self._limit = records_in_memory
        self._spilled: IO[bytes] | None = None
        self.reset()

    def reset(self) -> None:
        if self._spilled is not None:
            self._spilled.close()
        self._spilled = None
        self._held: list[tuple[int, Batch]] = []
        self._count = 0
        self._open = True

    def add(self, batch: Batch, index: int) -> None:
        if index != self._first and self._open:
            self._hold(batch, index)
            return
        self._operator.process(batch, index)
        if index == self._first and any(mark == END for _, mark in batch.marks):
            self._open = False
            self._release()

    def _hold(self, batch: Batch, index: int) -> None:
        self._held.append((index, batch))
        self._count += len(batch.values)
        if self._count >= self._limit:
            self._spill()

    def _spill(self) -> None:
        if self._spilled is None:
            self._spilled = tempfile.TemporaryFile(prefix="firesteel-held-")  # noqa: SIM115  closed in reset
        for index, batch in self._held:
            body = encode_batch(batch.values, batch.timestamps, batch.marks, None)
            self._spilled.write(bytes((index,)) + len(body).to_bytes(8, "big"))
            self._spilled.write(body)
        self._held = []
        self._count = 0

    def _release(self) -> None:
        spilled = self._spilled
        if spilled is not None:
            spilled.seek(0)
            while header := spilled.read(9):
                batch = decode_batch(spilled.read(int.from_bytes(header[1:], "big")))
                self._operator.process(batch, header[0])
        held: list[Any] = self._held
        self.reset()
        self._open = False
        for index, batch in held:
            self._operator.process(batch, index)
