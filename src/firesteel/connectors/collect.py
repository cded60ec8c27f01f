"""Collects a stream in the program (Flink: ``executeAndCollect``)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._shortest_floats import shortest_floats
from firesteel.connectors._staging import Seen, stage
from firesteel.program.pickling import dumps_block, loads_block
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)

Consumer = Callable[[list[Any]], None]
#: Takes a block of records as it is, and which one of the job that is: of epoch and subtask, by its digest.
BlockConsumer = Callable[[tuple[int, int, str], bytes], None]

_consumers: dict[str, BlockConsumer] = {}  # of this process, by sink id


@dataclass(frozen=True, slots=True)
class CollectSink(Sink):
    """Passes the records of each committed epoch to a consumer on the driver, subtask by subtask.

    The sink itself is plain data and may be copied and pickled. The consumer is registered under the sink's
    ``id`` in the driver process with ``attach``, and removed with ``detach``. ``type_info`` is the declared
    type of the records; its FLOATs are converted to their shortest digits.
    """

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    type_info: TypeInformation | None = None

    @property
    def description(self) -> str:
        return "Collect"

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.AT_LEAST_ONCE

    def attach(self, consumer: Consumer) -> None:
        """Call ``consumer`` with non-empty lists of records, from the driver's loop."""
        self.attach_blocks(lambda key, block: consumer(loads_block(block)))

    def attach_blocks(self, consumer: BlockConsumer) -> None:
        """Call ``consumer`` with blocks that ``loads_block`` makes records of. A new driver of the job may
        bring one again."""
        _consumers[self.id] = consumer

    def detach(self) -> None:
        _consumers.pop(self.id, None)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _CollectWriter(context, shortest_floats(self.type_info))

    def create_committer(self, context: CommitterContext) -> Committer:
        consumer = _consumers.get(self.id)
        if consumer is None:
            raise ProgramError(
                "Nobody takes the records of a collect sink.",
                hint="call attach() on it in the process that runs the job",
            )
        return CollectCommitter(consumer)


class _CollectWriter(SinkWriter):
    def __init__(self, context: WriterContext, convert: Callable[[Any], Any] | None) -> None:
        self._context = context
        self._convert = convert
        self._values: list[Any] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._values.extend(values if self._convert is None else map(self._convert, values))

    def prepare_commit(self) -> list[Any]:
        if not self._values:
            return []
        staged = stage(dumps_block(self._values), self._context)
        self._values = []
        return [staged]


class CollectCommitter(Committer):
    is_watched = True

    def __init__(self, consumer: BlockConsumer) -> None:
        self._consumer = consumer
        self._seen = Seen()

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            committable = request.origin
            if self._seen.is_new(committable):
                staged = committable.payload
                key = (committable.epoch, committable.subtask_index, staged.digest)
                self._consumer(key, staged.load())
                self._seen.add(committable)
