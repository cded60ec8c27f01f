"""BATCH mode: a keyed operator sees its records key by key, and one key's state at a time.

Records are grouped by key and sorted by timestamp; what does not fit in memory is spilled to sorted runs
and merged. An input without keys (broadcast) passes through before all of them.
"""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Container, Iterator
from typing import IO, Any, Final

from firesteel.runtime.batch import END, NO_TIMESTAMP, Batch
from firesteel.runtime.operators.keyed import KeyedOperator
from firesteel.runtime.wire import dumps
from firesteel.state.backend import SubtaskState
from firesteel.state.keys import canonical_keys, encode_key

RECORDS_IN_MEMORY: Final = 500_000

_Record = tuple[int, int, Any]  # timestamp, input, value
_Group = tuple[bytes, Any, Any, list[_Record]]  # key bytes, canonical key, key, records


class KeySorter:
    """Gathers the input of a keyed operator until it ends, then replays it key by key.

    :param passed: the inputs that go to the operator as they come.
    """

    def __init__(
        self,
        operator: KeyedOperator,
        inputs: int,
        state: SubtaskState,
        passed: Container[int] = (),
        records_in_memory: int = RECORDS_IN_MEMORY,
    ) -> None:
        self._operator = operator
        self._inputs = inputs
        self._state = state
        self._passed = passed
        self._limit = records_in_memory
        self.reset()

    def reset(self) -> None:
        self._open_inputs = set(range(self._inputs))
        self._groups: dict[Any, tuple[Any, list[_Record]]] = {}
        self._count = 0
        self._runs: list[IO[bytes]] = []

    def add(self, batch: Batch, index: int) -> None:
        if index in self._passed:
            self._operator.process(Batch(batch.values, batch.timestamps), index)
        else:
            self._gather(batch, index)
        if any(mark == END for _, mark in batch.marks):
            self._open_inputs.discard(index)
            if not self._open_inputs:
                self._replay()

    def _gather(self, batch: Batch, index: int) -> None:
        values, stamps = batch.values, batch.timestamps
        keys = batch.keys or []
        groups = self._groups
        for i, (canon, key) in enumerate(zip(canonical_keys(keys), keys, strict=True)):
            group = groups.get(canon)
            if group is None:
                group = groups[canon] = (key, [])
            group[1].append((NO_TIMESTAMP if stamps is None else stamps[i], index, values[i]))
        self._count += len(values)
        if self._count >= self._limit:
            self._spill()

    def _sorted_groups(self) -> Iterator[_Group]:
        groups = self._groups.items()
        yield from sorted((encode_key(key), canon, key, records) for canon, (key, records) in groups)

    def _spill(self) -> None:
        run = tempfile.TemporaryFile(prefix="firesteel-sort-")  # noqa: SIM115  closed in _replay
        for group in self._sorted_groups():
            body = dumps(group)
            run.write(len(body).to_bytes(8, "big"))
            run.write(body)
        run.seek(0)
        self._runs.append(run)
        self._groups = {}
        self._count = 0

    def _replay(self) -> None:
        sources = [*map(_read_run, self._runs), self._sorted_groups()]
        current: _Group | None = None
        # Runs are in order of arrival, and merge is stable.
        for group in heapq.merge(*sources, key=lambda g: g[0]):
            if current is not None and current[0] == group[0]:
                current[3].extend(group[3])
                continue
            if current is not None:
                self._run_key(current)
            current = group
        if current is not None:
            self._run_key(current)
        for run in self._runs:
            run.close()
        inputs = self._inputs
        self.reset()
        for index in range(inputs):
            self._operator.process(Batch([], None, [(0, END)]), index)

    def _run_key(self, group: _Group) -> None:
        _, canon, key, records = group
        records.sort(key=lambda r: r[0])
        start = 0
        while start < len(records):  # stretches of one input
            index = records[start][1]
            stop = start + 1
            while stop < len(records) and records[stop][1] == index:
                stop += 1
            part = records[start:stop]
            stamps = [r[0] for r in part]
            self._operator.process(
                Batch(
                    [r[2] for r in part],
                    None if all(t == NO_TIMESTAMP for t in stamps) else stamps,
                    keys=[key] * len(part),
                ),
                index,
            )
            start = stop
        self._operator.state.key, self._operator.state.raw_key = canon, key
        self._operator.end_key()
        self._operator.outputs.flush()
        for scope in self._operator.take_scopes():
            self._state.drop_key(scope)
        self._state.drop_key(canon)


def _read_run(run: IO[bytes]) -> Iterator[_Group]:
    while header := run.read(8):
        yield pickle.loads(run.read(int.from_bytes(header, "big")))
