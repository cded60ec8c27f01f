"""The task of one level: Spark partition i hosts subtask i of every vertex of the level."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from firesteel.runtime.batch import Batch
from firesteel.runtime.chain import Chain
from firesteel.runtime.error_report import report_of
from firesteel.runtime.gate import Gate
from firesteel.runtime.program import Ack, LevelDescriptor, Overrun
from firesteel.runtime.reporting import Beside, report_of_task, wall_ms
from firesteel.runtime.time_limit import TimeLimit
from firesteel.runtime.turns import Received
from firesteel.runtime.user_code import UserCode, UserCodeError
from firesteel.runtime.user_logs import taken_logs
from firesteel.runtime.wire import RowKind, WireRow, edge_of
from firesteel.runtime.worker import OpenLevel, acquire_level

_OF_NO_OPERATOR: Final = UserCode("", "")  # the program is unpacked, which may import modules of the user's
_OF_CHANNELS: Final = frozenset((RowKind.DATA, RowKind.LATENCY))


def run_level(
    descriptor: LevelDescriptor, subtask: int, rows: Iterable[WireRow], beside: Beside | None = None
) -> Iterator[WireRow]:
    """All rows that this task sends on. An exception of user code becomes a row: raised out of the task,
    Spark would run it four times.

    :param beside: takes what the task has to report that differs from run to run; None: nobody asks.
    """
    begun_ms = wall_ms()
    if not descriptor.subtasks:  # it passes rows on for later levels
        yield from rows
        return
    outbox: list[WireRow] = []
    chains: list[Chain] = []
    done = False
    try:
        with _OF_NO_OPERATOR:
            level = acquire_level(descriptor, subtask)
        chains, watch, latency = level.chains, level.watch, level.latency
        watch.take()  # what was left by an attempt that did not come to its end
        if latency is not None:
            latency.reset()
        for chain in chains:
            key = (chain.vertex.id, subtask)
            watch.switch(chain.vertex.id)
            with chain.user_code:
                chain.begin(descriptor.subtasks[key], descriptor.epoch, descriptor.now_ms, outbox.append)
                chain.hear(descriptor.news)
        for chain in chains:
            watch.switch(chain.vertex.id)
            with chain.user_code:
                chain.on_processing_time()
        yield from _drain(outbox)
        if latency is not None and descriptor.marks_latency:
            latency.mark(descriptor.now_ms, wall_ms())
            latency.send_at_once()
            yield from _drain(outbox)
        sources = [c for c in chains if descriptor.subtasks[c.vertex.id, subtask].sources]
        for chain in sources:
            limit = TimeLimit(descriptor.pace, len(sources))
            watch.switch(chain.vertex.id)
            for _ in chain.read_sources(descriptor.subtasks[chain.vertex.id, subtask], limit):
                yield from _drain(outbox)
        gates, limit = level.gates, TimeLimit(descriptor.pace)
        _forget_turns(level)
        for row in watch.waiting(rows):
            edge = edge_of(row.channel)
            gate = gates.get(edge) if row.kind == RowKind.DATA else None
            if gate is not None:
                watch.switch(level.vertex_of[edge])
                batch = gate.decode(row.body)
                turns = level.turns.get(edge)
                if turns is None:
                    _receive((gate, row.channel, batch), limit)
                else:
                    for received in turns.add(row.ord, gate, row.channel, batch):
                        _receive(received, limit)
            elif row.kind == RowKind.LATENCY and latency is not None and edge in gates:
                latency.receive(edge, row.body, wall_ms())
                latency.send_at_once()
            else:  # for a deeper level: passes through
                outbox.append(row)
            yield from _drain(outbox)
        for edge, turns in level.turns.items():
            watch.switch(level.vertex_of[edge])
            for received in turns.rest():
                _receive(received, limit)
            yield from _drain(outbox)
        for chain in chains:
            watch.switch(chain.vertex.id)
            with chain.user_code:
                ack = chain.end_epoch()
                answer = _ack_row(subtask, ack)
            chain.check_answer(ack, len(answer.body))
            yield from _drain(outbox)
            yield answer
            if ack.ended:
                with chain.user_code:
                    chain.close()
        yield from _log_rows(subtask)
        if beside is not None:
            place = (descriptor.epoch, descriptor.level, subtask)
            beside(report_of_task(place, begun_ms, watch.take(), level, is_held_back=False))
        done = True
    except EpochOverrun as e:
        yield from _pass_through(rows, gates)
        overrun = Overrun(subtask, descriptor.level, e.records, e.worked_ms)
        yield WireRow(subtask, -1, 0, RowKind.OVERRUN, pickle.dumps(overrun, 5))
        done = True
        for chain in chains:
            chain.abandon()
        yield from _log_rows(subtask)
    except UserCodeError as e:
        yield _error_row(e, subtask)
        done = True
        for chain in chains:
            chain.abandon()
            close_quietly(chain)
        yield from _log_rows(subtask)
    except Exception as e:  # of the engine itself
        yield _error_row(_OF_NO_OPERATOR.failure(e), subtask)
        done = True
        for chain in chains:
            chain.abandon()
        yield from _log_rows(subtask)
    finally:
        if not done:  # the task was killed, or its consumer stopped reading
            for chain in chains:
                chain.abandon()


class EpochOverrun(Exception):
    """The task has worked for far longer than an epoch should last: the epoch is given up."""

    def __init__(self, records: int, worked_ms: float) -> None:
        super().__init__(records, worked_ms)
        self.records = records
        self.worked_ms = worked_ms


def _forget_turns(level: OpenLevel) -> None:
    """What an attempt has held that was given up."""
    for turns in level.turns.values():
        turns.clear()


def _receive(received: Received, limit: TimeLimit) -> None:
    """Process a buffer, in pieces where the clock is to be looked at in between."""
    gate, channel, batch = received
    whole = len(batch.values) <= limit.piece
    for piece in (batch,) if whole else _pieces(batch, limit):
        if limit.is_overrun:
            raise EpochOverrun(limit.records, limit.worked_s * 1000)
        begun_s = limit.now_s()
        gate.receive(channel, piece)
        limit.worked(len(piece.values), limit.now_s() - begun_s)


def _pieces(batch: Batch, limit: TimeLimit) -> Iterator[Batch]:
    rest = batch
    while len(rest.values) > limit.piece:
        piece, rest = rest.split(limit.piece)
        yield piece
    yield rest


def _pass_through(rows: Iterable[WireRow], gates: Mapping[int, Gate]) -> Iterator[WireRow]:
    """The rest of the input that is not for this level; a worker that leaves some of it unread is not used
    again."""
    for row in rows:
        if row.kind not in _OF_CHANNELS or edge_of(row.channel) not in gates:
            yield row


def _drain(outbox: list[WireRow]) -> Iterator[WireRow]:
    if outbox:
        yield from outbox
        outbox.clear()


def _ack_row(subtask: int, ack: Ack) -> WireRow:
    return WireRow(subtask, -1, 0, RowKind.ACK, pickle.dumps(ack, 5))


def _log_rows(subtask: int) -> Iterator[WireRow]:
    logs = taken_logs()
    if logs is not None:
        yield WireRow(subtask, -1, 0, RowKind.LOG, pickle.dumps(logs, 5))


def _error_row(error: UserCodeError, subtask: int) -> WireRow:
    return WireRow(subtask, -1, 0, RowKind.ERROR, pickle.dumps(report_of(error, subtask), 5))


def close_quietly(chain: Chain) -> None:
    """close() after a failure: the first error is the one that counts."""
    try:
        chain.close()
    except UserCodeError:
        return
