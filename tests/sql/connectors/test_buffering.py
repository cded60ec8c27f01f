"""Rows that wait in a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.clock import ManualClock
from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, Columns
from firesteel.program.sinks import Sink, SinkWriter, WriterContext
from firesteel.sql.connectors.buffering import BufferedSink

_CONTEXT = WriterContext(0, 1, "token", "/nowhere")


@dataclass(frozen=True)
class Target(Sink):
    """Remembers the rows of each request, with their kinds."""

    requests: list[list[tuple[int, str, int]]] = field(default_factory=list)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self)


class _Writer(SinkWriter):
    def __init__(self, target: Target) -> None:
        self._target = target

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        columns: Any = values
        kinds = columns.kinds_or_inserts().tolist()
        fields = (array.to_pylist() for array in columns.arrays)
        self._target.requests.append(list(zip(kinds, *fields, strict=True)))

    def prepare_commit(self) -> list[Any]:
        return ["staged"]


def rows(*found: tuple[int, str, int]) -> Any:
    kinds, keys, values = zip(*found, strict=True)
    return Columns([pa.array(keys), pa.array(values)], len(found), np.array(kinds, np.int8))


def test_the_last_row_of_a_key_is_written_of_all_batches() -> None:
    target = Target()
    writer = BufferedSink(target, (0,), 3).create_writer(_CONTEXT)
    for n in range(5):
        writer.write_batch(rows((UPDATE_AFTER, "a", n), (UPDATE_AFTER, "b", n)), None)
    writer.write_batch(rows((DELETE, "b", 4)), None)
    assert target.requests == [], "two keys are not three"
    writer.write_batch(rows((INSERT, "c", 7), (UPDATE_AFTER, "a", 8)), None)
    every = [(DELETE, "b", 4), (INSERT, "c", 7), (UPDATE_AFTER, "a", 8)]
    assert target.requests == [every]
    writer.write_batch(rows((INSERT, "d", 1)), None)
    writer.flush(end_of_input=False)
    assert target.requests == [every, [(INSERT, "d", 1)]]
    assert writer.prepare_commit() == ["staged"]


def test_rows_do_not_wait_longer_than_the_interval() -> None:
    target, clock = Target(), ManualClock()
    writer = BufferedSink(target, (0,), 0, 1000, clock).create_writer(_CONTEXT)
    for n in range(3):
        writer.write_batch(rows((UPDATE_AFTER, "a", n)), None)
        clock.advance(500)
    assert target.requests == [[(UPDATE_AFTER, "a", 2)]]


def test_without_a_key_all_rows_are_written() -> None:
    target = Target()
    writer = BufferedSink(target, (), 3).create_writer(_CONTEXT)
    for _ in range(2):
        writer.write_batch(rows((INSERT, "a", 1), (INSERT, "a", 1)), None)
    assert target.requests == [[(INSERT, "a", 1)] * 4]
