"""A connector from outside: a source that counts, a sink that adds up, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import Types
from firesteel.connectors.base import Sink, SinkWriter, WriterContext
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.connectors.registry import CONNECTORS, Connector

SUMS: list[int] = []


def counting_source(end: int) -> SequenceSource:
    return SequenceSource(1, end)


class SumSink(Sink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _SumWriter()


class _SumWriter(SinkWriter):
    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        SUMS.append(sum(values))

    def prepare_commit(self) -> list[Any]:
        return []


def _table(descriptor: Any) -> tuple[Any, Any]:
    end = descriptor.get_options().get("end")
    if end is None:
        raise ConfigurationError("A table of the connector 'counting' needs the option 'end'.")
    return counting_source(int(end)), Types.LONG()


CONNECTORS.register(
    Connector(name="counting", module=__name__, jars=("connector-counting",), table=_table),
)
