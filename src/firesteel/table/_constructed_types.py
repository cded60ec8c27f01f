"""Types that are made of others: arrays, maps, multisets, rows (Flink: the family CONSTRUCTED), and the views
of state in accumulators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from firesteel.common.errors import ProgramError
from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.table._data_type import DataType, checked_type

__all__ = [
    "ArrayType",
    "ListViewType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "RowField",
    "RowType",
]


class _OfElements(DataType):
    _sql: ClassVar[type[t.ArrayType | t.MultisetType]]

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = checked_type(element_type, "element type")

    @property
    def logical(self) -> t.DataType:
        return self._sql(self.element_type.logical, nullable=self._nullable)

    def need_conversion(self) -> bool:
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return obj and [self.element_type.to_sql_type(v) for v in obj]

    def from_sql_type(self, obj: Any) -> Any:
        return obj and [self.element_type.from_sql_type(v) for v in obj]

    def _arguments(self) -> tuple[Any, ...]:
        return (self.element_type,)


class ArrayType(_OfElements):
    """A list."""

    _sql = t.ArrayType


class MapType(DataType):
    """A dict."""

    _sql = t.MapType

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = checked_type(key_type, "key type")
        self.value_type = checked_type(value_type, "value type")

    @property
    def logical(self) -> t.DataType:
        return t.MapType(self.key_type.logical, self.value_type.logical, nullable=self._nullable)

    def need_conversion(self) -> bool:
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return obj and {self.key_type.to_sql_type(k): self.value_type.to_sql_type(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        return obj and {
            self.key_type.from_sql_type(k): self.value_type.from_sql_type(v) for k, v in obj.items()
        }

    def _arguments(self) -> tuple[Any, ...]:
        return self.key_type, self.value_type


class MultisetType(_OfElements):
    """Elements with their counts."""

    _sql = t.MultisetType


class RowField:
    """A field of a row; made by ``DataTypes.FIELD``."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise ProgramError("The name of a field is text.", detail=f"got {name!r}")
        self.name = name
        self.data_type = checked_type(data_type, "type of a field")
        self.description = description

    def need_conversion(self) -> bool:
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description or '...'})"


class RowType(DataType):
    """Named fields in order; made by ``DataTypes.ROW``."""

    _sql = t.RowType

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Add a field at the end, and return the row type itself."""
        if not isinstance(field, RowField):
            field = RowField(field, checked_type(data_type, "type of a field"))
        self.fields.append(field)
        return self

    def field_names(self) -> list[str]:
        return self.names

    def field_types(self) -> list[DataType]:
        return [field.data_type for field in self.fields]

    @property
    def logical(self) -> t.DataType:
        fields = tuple(t.RowField(f.name, f.data_type.logical, f.description) for f in self.fields)
        return t.RowType(fields=fields, nullable=self._nullable)

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """A tuple of the fields' internal forms."""
        if obj is None:
            return None
        if isinstance(obj, dict):
            values = [obj.get(name) for name in self.names]
        elif isinstance(obj, list | tuple) or hasattr(obj, "__iter__"):
            values = list(obj)
        else:
            values = [getattr(obj, name) for name in self.names]
        return tuple(f.to_sql_type(v) for f, v in zip(self.fields, values, strict=True))

    def from_sql_type(self, obj: Any) -> Any:
        """A Row with the names of the fields."""
        if obj is None:
            return None
        row = Row(*(f.from_sql_type(v) for f, v in zip(self.fields, obj, strict=True)))
        row.set_field_names(self.names)
        return row

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"No RowField named {key}")
        if isinstance(key, int):
            return self.fields[key]
        if isinstance(key, slice):
            return RowType(self.fields[key])
        raise TypeError("RowType keys should be strings, integers or slices")

    def __repr__(self) -> str:
        return f"RowType({','.join(map(str, map(repr, self.fields)))})"


class _View(DataType):
    """The type of a view of state, in accumulators alone."""

    @property
    def logical(self) -> t.DataType:
        raise ProgramError(f"{type(self).__name__} is a type of accumulators, not of columns.")

    def to_sql_type(self, obj: Any) -> Any:
        raise ProgramError(f"{type(self).__name__} is a type of accumulators: its values are not converted.")

    def from_sql_type(self, obj: Any) -> Any:
        return self.to_sql_type(obj)


class ListViewType(_View):
    """A ``ListView`` in an accumulator."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        self._element_type = checked_type(element_type, "element type")

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"


class MapViewType(_View):
    """A ``MapView`` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        self._key_type = checked_type(key_type, "key type")
        self._value_type = checked_type(value_type, "value type")

    def __repr__(self) -> str:
        return f"MapViewType({self._key_type!r}, {self._value_type!r})"
