"""The older descriptors of schemas and rowtimes (PyFlink: ``pyflink.table.descriptors``): builders of
properties."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.table._conversions import logical_type

__all__ = ["Rowtime", "Schema"]


class Descriptor:
    """Something that is said by properties."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def to_properties(self) -> dict[str, str]:
        """The properties."""
        return dict(self._properties)


class Rowtime(Descriptor):
    """Where event time comes from, and its watermarks."""

    def __init__(self) -> None:
        super().__init__()

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        """A field has them."""
        self._properties |= {"rowtime.timestamps.type": "from-field", "rowtime.timestamps.from": field_name}
        return self

    def timestamps_from_source(self) -> Rowtime:
        """The source knows them."""
        self._properties["rowtime.timestamps.type"] = "from-source"
        return self

    def timestamps_from_extractor(self, extractor: str) -> Rowtime:
        raise UnsupportedFeatureError(
            "Extractors are classes of Java.", detail=extractor, hint="use a computed column"
        )

    def watermarks_periodic_ascending(self) -> Rowtime:
        """Times never go back."""
        self._properties["rowtime.watermarks.type"] = "periodic-ascending"
        return self

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """Times go back by at most so many milliseconds."""
        self._properties |= {
            "rowtime.watermarks.type": "periodic-bounded",
            "rowtime.watermarks.delay": str(delay),
        }
        return self

    def watermarks_from_source(self) -> Rowtime:
        """The source knows them."""
        self._properties["rowtime.watermarks.type"] = "from-source"
        return self

    def watermarks_from_strategy(self, strategy: str) -> Rowtime:
        raise UnsupportedFeatureError(
            "Strategies are classes of Java.", detail=strategy, hint="use WATERMARK FOR"
        )

    def to_properties(self) -> dict[str, str]:
        return super().to_properties()


class Schema(Descriptor):
    """Fields of a table."""

    def __init__(
        self, schema: Any = None, fields: dict[str, Any] | None = None, rowtime: Rowtime | None = None
    ) -> None:
        super().__init__()
        self._count = 0
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: Any) -> Schema:
        """Take the fields of a TableSchema."""
        for name, data_type in zip(
            table_schema.get_field_names(), table_schema.get_field_data_types(), strict=True
        ):
            self.field(name, data_type)
        return self

    def field(self, field_name: str, field_type: Any) -> Schema:
        """Add a field."""
        shown = field_type if isinstance(field_type, str) else str(logical_type(field_type))
        self._properties[f"schema.{self._count}.name"] = field_name
        self._properties[f"schema.{self._count}.data-type"] = shown
        self._count += 1
        return self

    def fields(self, fields: dict[str, Any]) -> Schema:
        """Add fields."""
        for name, data_type in fields.items():
            self.field(name, data_type)
        return self

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """The last field is called otherwise in the source."""
        self._properties[f"schema.{self._count - 1}.from"] = origin_field_name
        return self

    def proctime(self) -> Schema:
        """The last field is processing time."""
        self._properties[f"schema.{self._count - 1}.proctime"] = "true"
        return self

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """The last field is event time."""
        for key, value in rowtime.to_properties().items():
            self._properties[f"schema.{self._count - 1}.{key}"] = value
        return self

    def to_properties(self) -> dict[str, str]:
        return super().to_properties()
