"""Dialects of SQL (PyFlink: ``pyflink.table.sql_dialect``)."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """DEFAULT is Flink's; HIVE is refused where it is chosen."""

    DEFAULT = 0
    HIVE = 1
