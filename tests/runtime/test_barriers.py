"""Rows of several producers are cut where all of them have cut, whoever is ahead."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, strategies as st

from firesteel.runtime.barriers import BarrierAligner, HeldRows
from firesteel.runtime.wire import RowKind, WireRow

EPOCHS = 4


BARRIER = WireRow(0, -1, 0, RowKind.BARRIER, b"")


def row(producer: int, number: int, size: int = 10) -> WireRow:
    return WireRow(0, producer, number, RowKind.DATA, b"x" * size)


@st.composite
def interleaved(draw: st.DrawFn) -> tuple[int, list[tuple[int, WireRow]]]:
    """Several producers, each with some rows in each epoch and a barrier behind them, in any order of
    arrival that keeps the order of each producer."""
    producers = draw(st.integers(1, 4))
    streams: list[list[tuple[int, WireRow]]] = []
    for producer in range(producers):
        stream: list[tuple[int, WireRow]] = []
        for _ in range(EPOCHS):
            stream += [(producer, row(producer, len(stream) + i)) for i in range(draw(st.integers(0, 4)))]
            stream.append((producer, BARRIER))
        streams.append(stream)
    arrivals = []
    while any(streams):
        producer = draw(st.sampled_from([p for p, stream in enumerate(streams) if stream]))
        arrivals.append(streams[producer].pop(0))
    return producers, arrivals


@pytest.mark.row("T25")
@given(interleaved(), st.sampled_from([0, 500, 1 << 20]))
@pytest.mark.row("S-CKPT-05", "S-CKPT-07", "S-CKPT-32", "S-CKPT-33")
def test_an_epoch_has_of_each_producer_what_came_before_its_barrier(
    case: tuple[int, list[tuple[int, WireRow]]], limit_bytes: int
) -> None:
    producers, arrivals = case
    sent: defaultdict[tuple[int, int], list[WireRow]] = defaultdict(list)
    at = [0] * producers
    for producer, item in arrivals:
        if item is BARRIER:
            at[producer] += 1
        else:
            sent[at[producer], producer].append(item)
    aligner = BarrierAligner(producers, limit_bytes)
    got: defaultdict[tuple[int, int], list[WireRow]] = defaultdict(list)
    epoch = 0
    for producer, item in arrivals:
        for out in aligner.feed(producer, item):
            if out.kind == RowKind.BARRIER:
                epoch += 1
            else:
                got[epoch, out.channel].append(out)
    assert epoch == EPOCHS
    assert got == sent
    assert not aligner.is_waiting


@pytest.mark.row("S-CKPT-07", "S-CKPT-32")
def test_what_is_ahead_waits() -> None:
    aligner = BarrierAligner(2)
    assert list(aligner.feed(0, row(0, 1))) == [row(0, 1)]
    assert list(aligner.feed(0, BARRIER)) == []
    assert aligner.is_waiting
    assert list(aligner.feed(0, row(0, 2))) == []
    assert list(aligner.feed(1, row(1, 1))) == [row(1, 1)]
    assert list(aligner.feed(1, BARRIER)) == [BARRIER, row(0, 2)]
    assert not aligner.is_waiting


@pytest.mark.row("T25")
def test_what_a_fast_channel_sends_behind_its_barrier_is_not_in_the_snapshot() -> None:
    """An operator adds up. It sees 1, 2, a barrier of the fast channel, 10, then 3 and a barrier of the slow
    one: the snapshot is 6, and 10 comes after it."""
    arrivals = [(0, 1), (1, 2), (0, None), (0, 10), (1, 3), (1, None)]
    aligner, total, snapshots = BarrierAligner(2), 0, []
    for producer, number in arrivals:
        for out in aligner.feed(producer, BARRIER if number is None else row(producer, number)):
            if out is BARRIER:
                snapshots.append(total)
            else:
                total += out.ord
    assert (snapshots, total) == ([6], 16)


@pytest.mark.row("S-CKPT-32")
def test_a_producer_may_be_several_barriers_ahead() -> None:
    aligner = BarrierAligner(2)
    for item in (BARRIER, row(0, 1), BARRIER, row(0, 2)):
        assert list(aligner.feed(0, item)) == []
    assert list(aligner.feed(1, BARRIER)) == [BARRIER, row(0, 1)]
    assert list(aligner.feed(1, BARRIER)) == [BARRIER, row(0, 2)]


def test_held_rows_stay_within_their_memory_and_keep_their_order() -> None:
    held = HeldRows(5_000)
    for n in range(100):
        held.append(row(0, n, 500))
        assert held.memory_bytes <= 5_000
    assert len(held) == 100
    first = [held.popleft().ord for _ in range(60)]
    for n in range(100, 110):
        held.append(row(0, n, 500))
    rest = [held.popleft().ord for _ in range(len(held))]
    assert first + rest == list(range(110))
    held.append(row(0, 7))
    assert held.memory_bytes > 0, "in memory again"
    assert held.popleft().ord == 7
    held.clear()
