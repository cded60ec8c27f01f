"""Declared types as text, for what is stored with state: JSON, the same for equal types in every release.

``"LONG"``; ``["LIST", "LONG"]``; ``["MAP", "STRING", "LONG"]``; ``["TUPLE", "LONG", "STRING"]``;
``["ROW", ["name", "STRING"], ["age", "INT"]]``. A type of somebody else's has only its name:
``["OTHER", repr]``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from firesteel.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from firesteel.common._composite_types import (
    ArrayTypeInfo,
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)

__all__ = ["shown_type", "type_of_text", "type_text"]

_SINGLE: Final[dict[str, Callable[[], TypeInformation]]] = {
    "PICKLED": PickledBytesTypeInfo,
    "SQL_DATE": DateTypeInfo,
    "SQL_TIME": TimeTypeInfo,
    "SQL_TIMESTAMP": TimestampTypeInfo,
}
_NAMES: Final = {make: name for name, make in _SINGLE.items()}
_OF_ONE: Final[dict[str, Callable[[TypeInformation], TypeInformation]]] = {
    "LIST": ListTypeInfo,
    "PRIMITIVE_ARRAY": PrimitiveArrayTypeInfo,
    "BASIC_ARRAY": BasicArrayTypeInfo,
    "OBJECT_ARRAY": ObjectArrayTypeInfo,
}
_OF_ONE_NAMES: Final = {make: name for name, make in _OF_ONE.items()}
_OTHER: Final = "OTHER"


def type_text(type_info: TypeInformation) -> str:
    return json.dumps(_tree(type_info), ensure_ascii=False, separators=(",", ":"))


def type_of_text(text: str) -> TypeInformation | None:
    """The type; None when it, or a part of it, is known by name only.

    :raises ValueError: the text was written by a later release, or is damaged.
    """
    try:
        return _type(json.loads(text))
    except _NamedOnly:
        return None
    except (KeyError, TypeError, IndexError, json.JSONDecodeError) as error:
        raise ValueError(f"{text!r} is not a type") from error


def shown_type(text: str) -> str:
    """As errors and reports show the type of a text; "" is a type that was not recorded."""
    if not text:
        return "not recorded"
    known = type_of_text(text)
    return repr(known) if known is not None else text


def _tree(type_info: TypeInformation) -> Any:
    match type_info:
        case ExternalTypeInfo():
            return _tree(type_info._type_info)
        case BasicTypeInfo():
            return type_info._basic_type.name
        case LocalTimeTypeInfo():
            return type_info._time_type.name
        case RowTypeInfo():
            names, types = type_info.get_field_names(), type_info.get_field_types()
            return ["ROW", *([name, _tree(t)] for name, t in zip(names, types, strict=True))]
        case TupleTypeInfo():
            return ["TUPLE", *map(_tree, type_info.get_field_types())]
        case MapTypeInfo():
            return ["MAP", _tree(type_info._key_type_info), _tree(type_info._value_type_info)]
        case ListTypeInfo():
            return ["LIST", _tree(type_info.elem_type)]
    kind: Any = type(type_info)
    if isinstance(type_info, ArrayTypeInfo) and kind in _OF_ONE_NAMES:
        return [_OF_ONE_NAMES[kind], _tree(type_info._element_type)]
    return _NAMES.get(kind) or [_OTHER, repr(type_info)]


class _NamedOnly(Exception):
    """A type of somebody else's."""


def _type(tree: Any) -> TypeInformation:
    if isinstance(tree, str):
        return _single(tree)
    name, *parts = tree
    if name == _OTHER:
        raise _NamedOnly
    if name == "ROW":
        names, types = [field[0] for field in parts], [_type(field[1]) for field in parts]
        unnamed = names == [f"f{i}" for i in range(len(names))]
        return RowTypeInfo(types, None if unnamed else names)
    if name == "TUPLE":
        return TupleTypeInfo(list(map(_type, parts)))
    if name == "MAP":
        return MapTypeInfo(_type(parts[0]), _type(parts[1]))
    return _OF_ONE[name](_type(parts[0]))


def _single(name: str) -> TypeInformation:
    if name in _SINGLE:
        return _SINGLE[name]()
    if name in LocalTimeTypeInfo.TimeType.__members__:
        return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType[name])
    basic = BasicType[name]
    return InstantTypeInfo(basic) if basic is BasicType.INSTANT else BasicTypeInfo(basic)
