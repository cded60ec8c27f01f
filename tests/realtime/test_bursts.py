"""What tasks in real time send, as Spark rows, and how the JVM deals with them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from firesteel.runtime.wire import RowKind, WireRow
from firesteel.spark.bursts import ROWS, first_pushes, read_bursts, to_burst
from firesteel.spark.settings import PUSH_BYTES

WIDTH = 3


def given_to_python(received: list[tuple[int, bytes]]) -> list[list[bytes]]:
    """The batches that the JVM writes for one task: each when it is full, and there is one more row."""
    batches: list[list[bytes]] = []
    bodies = [body for _, body in received]
    while len(bodies) > ROWS:
        batches.append(bodies[:ROWS])
        bodies = bodies[ROWS:]
    return batches


def columns_of(batch: pa.StructArray) -> list[list[Any]]:
    batch.validate(full=True)
    return [batch.field(i).to_pylist() for i in range(2)]


def rows_of(batch: pa.StructArray, target: int) -> list[tuple[int, bytes]]:
    return [row for row in zip(*columns_of(batch), strict=True) if row[0] == target]


def read(bodies: list[bytes]) -> list[WireRow]:
    columns = [pa.array([0] * len(bodies), pa.int32()), pa.array(bodies, pa.binary())]
    return list(read_bursts(pa.StructArray.from_arrays(columns, names=["target", "body"])))


def test_rows_come_out_as_they_were() -> None:
    rows = [
        WireRow(0, 7, 1, RowKind.DATA, b""),
        WireRow(0, 8, 1, RowKind.DATA, b"\0" * 100_000),
        WireRow(0, -1, 2, RowKind.BARRIER, b""),
        WireRow(5, 1 << 20, 3, RowKind.DATA, b"of a deeper level"),
    ]
    burst = to_burst(rows, WIDTH)
    assert [row for target in range(WIDTH) for row in read([b for _, b in rows_of(burst, target)])] == rows
    assert {target for target, _ in zip(*columns_of(burst), strict=True)} == {0, 2}


def test_a_burst_reaches_python_without_another_one() -> None:
    received = rows_of(first_pushes(WIDTH), 1)
    sent: list[WireRow] = []
    for n in range(5):
        rows = [WireRow(1, i, n, RowKind.DATA, b"%d" % n) for i in range(n + 1)]
        sent += rows
        received += rows_of(to_burst(rows, WIDTH), 1)
        assert [row for batch in given_to_python(received) for row in read(batch)] == sent


def test_bursts_of_senders_that_come_between_each_other_reach_python() -> None:
    one = rows_of(to_burst([WireRow(1, 0, 0, RowKind.DATA, b"one")], WIDTH), 1)
    two = rows_of(to_burst([WireRow(1, 0, 1, RowKind.DATA, b"two")], WIDTH), 1)
    received = [*rows_of(first_pushes(WIDTH), 1), one[0], two[0], two[1], one[1]]
    assert [row.body for batch in given_to_python(received) for row in read(batch)] == [b"one", b"two"]


def test_a_push_fills_a_buffer() -> None:
    """Of the network, and before Python: nothing waits there for more."""
    [(_, push)] = rows_of(first_pushes(WIDTH), 2)
    assert len(push) == PUSH_BYTES
    assert not read([push])
