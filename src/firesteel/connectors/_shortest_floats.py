"""32-bit floats as the program gets them when it collects a stream.

PyFlink parses collected values from their Java text, so a FLOAT is the number with the fewest digits that
identifies it: 0.1, where a function sees 0.10000000149011612.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common._basic_types import BasicType, BasicTypeInfo, TypeInformation
from firesteel.common._composite_types import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from firesteel.common._java_numbers import float_to_string
from firesteel.common.types import _make_like

Convert = Callable[[Any], Any]

_ARRAYS = (BasicArrayTypeInfo, ListTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


def shortest_floats(type_info: TypeInformation | None) -> Convert | None:
    """Return the function that converts the FLOATs in a value of a type to their shortest digits; None if it
    has no FLOATs."""
    convert = _convert(type_info)
    return None if convert is None else lambda value: None if value is None else convert(value)


def _convert(type_info: TypeInformation | None) -> Convert | None:
    match type_info:
        case BasicTypeInfo() if type_info._basic_type is BasicType.FLOAT:
            return lambda value: float(float_to_string(value)) if type(value) is float else value
        case ExternalTypeInfo():
            return _convert(type_info._type_info)
        case RowTypeInfo() | TupleTypeInfo():
            return _of_fields([shortest_floats(type_) for type_ in type_info.get_field_types()])
        case MapTypeInfo():
            return _of_map(
                shortest_floats(type_info._key_type_info), shortest_floats(type_info._value_type_info)
            )
    if isinstance(type_info, _ARRAYS):
        element = shortest_floats(_element_of(type_info))
        return None if element is None else lambda values: type(values)(map(element, values))
    return None


def _element_of(type_info: Any) -> TypeInformation:
    element: TypeInformation = getattr(type_info, "_element_type", None) or type_info.elem_type
    return element


def _of_fields(converts: list[Convert | None]) -> Convert | None:
    if not any(converts):
        return None

    def convert(record: Any) -> Any:
        pairs = zip(converts, record, strict=True)
        return _make_like(record, [value if each is None else each(value) for each, value in pairs])

    return convert


def _of_map(key: Convert | None, item: Convert | None) -> Convert | None:
    if key is None and item is None:
        return None
    return lambda mapping: {
        (k if key is None else key(k)): (v if item is None else item(v)) for k, v in mapping.items()
    }
