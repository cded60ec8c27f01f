"""A table, as far as there are tables: something that can be turned into a stream."""

from __future__ import annotations

from firesteel.table.schema import Schema
from firesteel.table.table_descriptor import TableDescriptor

__all__ = ["Table"]


class Table:
    """A table that a connector makes (Flink: ``Table``); ``to_data_stream`` of the environment reads it."""

    def __init__(self, name: str, descriptor: TableDescriptor) -> None:
        self.name = name
        self.descriptor = descriptor

    def get_schema(self) -> Schema:
        return self.descriptor.schema
