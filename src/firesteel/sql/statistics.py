"""What is known of the rows of tables: how many there are, and how many values columns have. Plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from firesteel.sql.catalog import PartitionSpec, ResolvedTable

__all__ = ["ColumnStatistics", "KeepsStatistics", "StatisticsOf", "TableStatistics", "together"]


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Of the values of a column; None: not known.

    :param distinct: how many different ones there are, without NULL.
    :param nulls: in how many rows it is NULL.
    :param low: the least value, as Python has it.
    :param high: the greatest.
    """

    distinct: int | None = None
    nulls: int | None = None
    low: Any = None
    high: Any = None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """:param columns: by their names, those of which something is known."""

    rows: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


#: What is known of a table; None: nothing.
StatisticsOf = Callable[[ResolvedTable], TableStatistics | None]


@runtime_checkable
class KeepsStatistics(Protocol):
    """A catalog that also keeps statistics. Those of a table with partitions are kept by partition."""

    def get_statistics(
        self, database: str, name: str, partition: PartitionSpec | None = None
    ) -> TableStatistics | None:
        """What is known; of a table with partitions without *partition*: of all of them together."""

    def set_statistics(
        self, database: str, name: str, statistics: TableStatistics, partition: PartitionSpec | None = None
    ) -> None: ...


def together(parts: Iterable[TableStatistics]) -> TableStatistics | None:
    """What is known of partitions together: of different values that there are as many as in one of them."""
    found = list(parts)
    if not found:
        return None
    names = {name for part in found for name in part.columns}
    columns = {name: _merged([part.columns.get(name) for part in found]) for name in names}
    return TableStatistics(sum(part.rows for part in found), columns)


def _merged(parts: list[ColumnStatistics | None]) -> ColumnStatistics:
    known = [part for part in parts if part is not None]
    distinct = [part.distinct for part in known if part.distinct is not None]
    nulls = [part.nulls for part in known if part.nulls is not None]
    lows = [part.low for part in known if part.low is not None]
    highs = [part.high for part in known if part.high is not None]
    return ColumnStatistics(
        max(distinct, default=None),
        sum(nulls) if len(nulls) == len(parts) else None,
        min(lows, default=None),
        max(highs, default=None),
    )
