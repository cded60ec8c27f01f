"""From columns to messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, UPDATE_BEFORE, Columns, columns_in
from firesteel.connectors.kafka.serialization import (
    Block,
    FlinkFixedPartitioner,
    KafkaSinkContext,
    RecordSerializer,
)
from firesteel.sql.connectors.kafka.metadata import HEADERS, TIMESTAMP, MetadataColumn, header_lists
from firesteel.sql.connectors.kafka.records import Part

__all__ = ["TableSerializer"]


@dataclass
class TableSerializer(RecordSerializer):
    """:param value: whose ``columns`` are the places of its columns in the rows that come; likewise ``key``.
    :param metadata: place of a column -> what it becomes. :param fixed_partition: each subtask has one.
    :param upsert: a row that is deleted is a message without a value.
    """

    topic: str
    value: Part
    key: Part | None = None
    metadata: tuple[tuple[int, MetadataColumn], ...] = ()
    fixed_partition: bool = False
    upsert: bool = False

    @property
    def fixed_topic(self) -> str | None:
        return self.topic

    def open(self, context: KafkaSinkContext) -> None:
        self._write_value = self.value.format.message_writer(self.value.row)
        self._write_key = None if self.key is None else self.key.format.message_writer(self.key.row)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_write_value", None)
        state.pop("_write_key", None)
        return state

    def encode(
        self, values: Sequence[Any], timestamps: Sequence[int | None] | None, context: KafkaSinkContext
    ) -> Block:
        columns = columns_in(values)
        block = Block(self.topic, self._bodies(columns))
        if self.key is not None:
            assert self._write_key is not None
            block.keys = self._write_key(_picked(columns, self.key).with_kinds(None))
        for place, column in self.metadata:
            array = column.written(columns.arrays[place])
            if column.key == TIMESTAMP:
                block.timestamps = array.view(pa.int64()).fill_null(0).to_pylist()
            elif column.key == HEADERS:
                block.headers = header_lists(array)
        if self.fixed_partition:
            block.partitions = [self._partition(context)] * len(block.values)
        return block

    def _bodies(self, columns: Columns) -> list[bytes | None]:
        rows = _picked(columns, self.value)
        if not self.upsert:
            return self._write_value(rows)
        bodies = self._write_value(rows.with_kinds(None))
        if columns.kinds is not None:
            for i in np.flatnonzero(np.isin(columns.kinds, (DELETE, UPDATE_BEFORE))).tolist():
                bodies[i] = None
        return bodies

    def _partition(self, context: KafkaSinkContext) -> int:
        partitioner = FlinkFixedPartitioner()
        partitioner.open(context.get_parallel_instance_id(), context.get_number_of_parallel_instances())
        known = context.get_partitions_for_topic(self.topic)
        return partitioner.partition(None, None, None, self.topic, known)


def _picked(columns: Columns, part: Part) -> Columns:
    return columns.with_arrays([columns.arrays[c] for c in part.columns])
