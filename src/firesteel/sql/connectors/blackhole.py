"""``blackhole``: rows that nobody needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.program.sinks import Sink, SinkWriter, WriterContext
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.sinks import sink_transformation

__all__ = ["CONNECTOR"]


@dataclass(frozen=True, slots=True)
class BlackholeSink(Sink):
    @property
    def description(self) -> str:
        return "Blackhole"

    @property
    def is_cheap(self) -> bool:
        return True

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer()


class _Writer(SinkWriter):
    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Blackhole:
    parallelism: int | None

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        """Whatever the query makes, without old rows."""
        return made - {"-U"}

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> SinkTransformation:
        return sink_transformation(environment, rows, node, BlackholeSink(), self.parallelism)


def create(context: TableContext) -> _Blackhole:
    return _Blackhole(context.options["sink.parallelism"])


CONNECTOR: Final = TableConnector(name="blackhole", sink=create)
