"""Objects of user-defined types as the values that columns hold for them.

A class names its type in ``__UDT__``; columns have what ``serialize`` makes of its objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.types import Row
from firesteel.sql.operators.objects import row_fields
from firesteel.table import types as d

__all__ = ["holds_user_types", "stored", "unwrapping"]

Converter = Callable[[Any], Any]


def unwrapping(data_type: d.DataType) -> Converter | None:
    """What makes a value of a declared type, which is not None, one without objects of user-defined types.
    None: there is no such type in it."""
    if isinstance(data_type, d.UserDefinedType):
        return _of_user_type(data_type)
    make = _PARTS.get(type(data_type))
    return None if make is None else make(data_type)


def _of_user_type(data_type: d.UserDefinedType) -> Converter:
    inner = _nullable(unwrapping(data_type.sql_type()))

    def convert(value: Any) -> Any:
        if getattr(value, "__UDT__", None) != data_type:
            raise ProgramError(
                f"{value!r:.200} is not an object of the type {type(data_type).__name__}.",
                hint="its class names its type in __UDT__",
            )
        return inner(data_type.serialize(value))

    return convert


def _nullable(convert: Converter | None) -> Converter:
    return (lambda v: v) if convert is None else (lambda v: None if v is None else convert(v))


def _of_list(data_type: Any) -> Converter | None:
    element = unwrapping(data_type.element_type)
    if element is None:
        return None
    convert = _nullable(element)
    return lambda values: [convert(v) for v in values]


def _of_map(data_type: Any) -> Converter | None:
    both = unwrapping(data_type.key_type), unwrapping(data_type.value_type)
    if both == (None, None):
        return None
    key, value = map(_nullable, both)
    return lambda pairs: {key(k): value(v) for k, v in pairs.items()}


def _of_row(data_type: Any) -> Converter | None:
    inner = [unwrapping(field.data_type) for field in data_type.fields]
    if not any(inner):
        return None
    names, converters = data_type.names, [_nullable(convert) for convert in inner]
    return lambda row: tuple(c(v) for c, v in zip(converters, row_fields(row, names), strict=True))


_PARTS: Final[Mapping[type[d.DataType], Callable[[Any], Converter | None]]] = {
    d.ArrayType: _of_list,
    d.MapType: _of_map,
    d.RowType: _of_row,
}


# ---- where no type is declared


def holds_user_types(value: Any) -> bool:
    """Whether there are objects of user-defined types in a value."""
    if isinstance(value, dict):
        return any(map(holds_user_types, value.values())) or any(map(holds_user_types, value))
    if isinstance(value, list | tuple | Row):
        return any(map(holds_user_types, value))
    return hasattr(type(value), "__UDT__")


def stored(value: Any) -> Any:
    """The value without them."""
    if isinstance(value, dict):
        return {stored(k): stored(v) for k, v in value.items()}
    if isinstance(value, Row):
        row = Row(*map(stored, value))
        row.set_field_names(list(value._fields or ()))
        return row
    if isinstance(value, list):
        return [stored(v) for v in value]
    if isinstance(value, tuple):
        return tuple(map(stored, value))
    user_type = getattr(type(value), "__UDT__", None)
    return value if user_type is None else stored(user_type.serialize(value))
