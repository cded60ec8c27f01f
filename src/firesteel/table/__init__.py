"""The part of the Table API that stream programs begin with: generated tables as streams."""

from __future__ import annotations

from firesteel.table.schema import Schema
from firesteel.table.table import Table
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_environment import StreamTableEnvironment
from firesteel.table.types import DataType, DataTypes, RowField, RowType

__all__ = [
    "DataType",
    "DataTypes",
    "RowField",
    "RowType",
    "Schema",
    "StreamTableEnvironment",
    "Table",
    "TableDescriptor",
]
