"""The task of one level: Spark partition i hosts subtask i of every vertex of the level."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.runtime.chain import Chain
from firesteel.runtime.operators.base import UserCodeError
from firesteel.runtime.program import Ack, LevelDescriptor, UserError
from firesteel.runtime.wire import RowKind, WireRow, decode_batch, edge_of
from firesteel.runtime.worker import acquire_level


def run_level(descriptor: LevelDescriptor, subtask: int, rows: Iterable[WireRow]) -> Iterator[WireRow]:
    """All rows that this task sends on. An exception of user code becomes a row: raised out of the task,
    Spark would run it four times (design, section 3)."""
    outbox: list[WireRow] = []
    chains: list[Chain] = []
    vertex = ""
    done = False
    try:
        level = acquire_level(descriptor, subtask)
        chains = level.chains
        for chain in chains:
            vertex = chain.vertex.name
            key = (chain.vertex.id, subtask)
            chain.begin(descriptor.subtasks[key], descriptor.epoch, descriptor.now_ms, outbox.append)
        for chain in chains:
            vertex = chain.vertex.name
            chain.on_processing_time()
        yield from _drain(outbox)
        for chain in chains:
            vertex = chain.vertex.name
            for _ in chain.read_sources(descriptor.subtasks[chain.vertex.id, subtask]):
                yield from _drain(outbox)
        gates = level.gates
        for row in rows:
            gate = gates.get(edge_of(row.channel)) if row.kind == RowKind.DATA else None
            if gate is None:  # for a deeper level: passes through
                outbox.append(row)
            else:
                gate.receive(row.channel, decode_batch(row.body))
            yield from _drain(outbox)
        for chain in chains:
            vertex = chain.vertex.name
            ack = chain.finish()
            yield from _drain(outbox)
            yield _ack_row(subtask, ack)
            if ack.ended:
                chain.close()
        done = True
    except UserCodeError as e:
        yield _error_row(e, subtask)
        done = True
        for chain in chains:
            chain.abandon()
            close_quietly(chain)
    except Exception as e:  # of the engine itself: say where, with everything that is known
        yield _error_row(UserCodeErrorAt(vertex, e), subtask)
        done = True
        for chain in chains:
            chain.abandon()
    finally:
        if not done:  # the task was killed, or its consumer stopped reading
            for chain in chains:
                chain.abandon()


def _drain(outbox: list[WireRow]) -> Iterator[WireRow]:
    if outbox:
        yield from outbox
        outbox.clear()


def _ack_row(subtask: int, ack: Ack) -> WireRow:
    return WireRow(subtask, -1, 0, RowKind.ACK, pickle.dumps(ack, 5))


class UserCodeErrorAt(UserCodeError):
    """An exception that no operator claimed, with the vertex it happened in."""

    def __init__(self, vertex: str, cause: BaseException) -> None:
        super().__init__(vertex, "")
        self.__cause__ = cause


def _error_row(error: UserCodeError, subtask: int) -> WireRow:
    cause = error.__cause__ or error
    text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
    pickled = _pickled(cause)
    # Not simply the last line: the notes of an exception come behind it, the place of a syntax error before.
    lines = traceback.format_exception_only(type(cause), cause)
    summary = next((line for line in lines if not line.startswith(" ")), lines[-1]).strip()
    body = UserError(error.operator, error.uid, subtask, pickled, summary, text)
    return WireRow(subtask, -1, 0, RowKind.ERROR, pickle.dumps(body, 5))


def _pickled(error: BaseException) -> bytes | None:
    """The exception itself where it can be had back, for many can be pickled and not be read again: their
    class wants other arguments than ``args``."""
    for form in (error, _Parts(error)):
        try:
            data = pickle.dumps(form, 5)
            pickle.loads(data)
        except Exception:
            continue
        return data
    return None


class _Parts:
    """Pickles as an exception that is made again without its ``__init__``."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self._error), self._error.args, self._error.__dict__)


def _made_again(cls: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


def close_quietly(chain: Chain) -> None:
    """close() after a failure: the first error is the one that counts."""
    try:
        chain.close()
    except UserCodeError:
        return
