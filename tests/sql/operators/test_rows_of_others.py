"""Rows in slots, as processes follow each other's epochs."""

from __future__ import annotations

from typing import Any

import numpy as np

from firesteel.sql.operators.row_state import Field, RowsColumn, rows_state
from firesteel.state.backend import OperatorState
from tests.state.support import Driver

TTL = 10


def rows_of(op: OperatorState) -> RowsColumn:
    return rows_state(op, "rows", [Field("int64"), Field("object", None, packs=True)], ttl_ms=TTL)


def put(op: OperatorState, number: int, *names: Any) -> None:
    column = rows_of(op)
    slots = column.find(list(names), np.zeros(len(names), np.uint32))
    column.put(slots, [np.full(len(names), number), np.full(len(names), "x", object)])


def held(op: OperatorState) -> dict[Any, int]:
    column = rows_of(op)
    names, slots = column.items()
    return dict(zip(names, column.fields[0][slots].tolist(), strict=True))


def test_the_slot_of_a_row_that_another_process_has_written_is_given_up_once() -> None:
    driver = Driver()
    one, two = driver.process(), driver.process()
    driver.run(one, lambda op: put(op, 1, "a", "b"))
    driver.run(two, lambda op: put(op, 2, "b", "c"))
    driver.run(one, lambda op: put(op, 3, "a"), now_ms=5)
    driver.run(one, lambda op: None, now_ms=9)  # its slot of b is free, and nobody has asked for b since
    driver.run(one, lambda op: None, now_ms=12)  # what it had there would be gone by now
    assert driver.run(one, held, now_ms=12) == {"a": 3}


def test_slots_that_were_given_up_begin_with_nothing() -> None:
    driver = Driver()
    one, two = driver.process(), driver.process()
    driver.run(one, lambda op: put(op, 1, "a", "b"))
    driver.run(two, lambda op: put(op, 2, "a", "b"))

    def look(op: OperatorState) -> list[Any]:
        column = rows_of(op)
        slots = column.find(["e", "f"], np.zeros(2, np.uint32))
        return [field[slots].tolist() for field in column.fields] + [column.alive[slots].tolist()]

    assert driver.run(one, look) == [[0, 0], [None, None], [False, False]]
    assert driver.run(one, held) == {"a": 2, "b": 2}
