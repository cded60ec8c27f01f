"""Statistics of tables and columns, as somebody has said them."""

from __future__ import annotations

from typing import Any

__all__ = ["CatalogColumnStatistics", "CatalogTableStatistics"]


class CatalogTableStatistics:
    """How many rows and bytes a table has, as somebody has said."""

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._values = (row_count, field_count, total_size, raw_data_size)
        self._properties = dict(properties or {})

    def get_row_count(self) -> int | None:
        return self._values[0]

    def get_field_count(self) -> int | None:
        return self._values[1]

    def get_total_size(self) -> int | None:
        return self._values[2]

    def get_raw_data_size(self) -> int | None:
        return self._values[3]

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        return CatalogTableStatistics(*self._values, self._properties)


class CatalogColumnStatistics:
    """What somebody has said of the values of columns."""

    def __init__(
        self, column_statistics_data: dict[str, Any] | None = None, properties: dict[str, str] | None = None
    ) -> None:
        self._data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        return CatalogColumnStatistics(self._data, self._properties)
