"""A connector from outside: a source that counts, a sink that adds up, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.connectors.base import Sink, SinkWriter, WriterContext
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.connectors.registry import CONNECTORS, Connector
from firesteel.sql.connectors.factory import TABLE_CONNECTORS, TableConnector, TableContext
from firesteel.sql.connectors.options import integer
from firesteel.sql.connectors.rows_source import RowsSource

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


def _table(context: TableContext) -> RowsSource:
    return RowsSource(counting_source(context.options["end"]))


CONNECTORS.register(Connector(name="counting", module=__name__, jars=("connector-counting",)))
TABLE_CONNECTORS.register(
    TableConnector(name="counting", options=(integer("end", required=True),), scan=_table)
)
