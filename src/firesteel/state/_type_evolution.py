"""Which declared types may follow each other without anybody's help (Flink: *State schema evolution*).

What Flink allows for POJOs holds for rows, by the names of their fields: a field may be added, which is None
in what was stored before; a field may be removed, with what was stored in it; fields may change places. A
field may not get another type, unless that is a row again that may follow the one before. All other types
must stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common._basic_types import TypeInformation
from firesteel.common._coerce_values import Mismatch
from firesteel.common._coercion import compile_value_coercion
from firesteel.common._composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from firesteel.common._type_text import type_text
from firesteel.common.errors import TypeMismatchError
from firesteel.common.types import _make_row

__all__ = ["Incompatible", "evolution"]

Convert = Callable[[Any], Any]


class Incompatible(Exception):
    """A type may not follow another one; the text says where they differ."""


def evolution(old: TypeInformation, new: TypeInformation) -> Convert | None:
    """What turns a value of type ``old`` into one of type ``new``; None: nothing has to be done.

    :raises Incompatible: a value of the one cannot become one of the other by itself.
    """
    convert = _evolve(old, new, "")
    if convert is None:
        return None
    coerce = compile_value_coercion(old, _does_not_fit)  # a tuple or a dict may have been stored for a row
    return convert if coerce is None else lambda value: convert(coerce(value))


def _does_not_fit(value: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
    return TypeMismatchError(f"A stored value is not of the type {declared} that was declared for it.")


def _evolve(old: TypeInformation, new: TypeInformation, path: str) -> Convert | None:
    if type_text(old) == type_text(new):
        return None
    match old, new:
        case RowTypeInfo(), RowTypeInfo():
            return _rows(old, new, path)
        case TupleTypeInfo(), TupleTypeInfo() if len(old.get_field_types()) == len(new.get_field_types()):
            pairs = zip(old.get_field_types(), new.get_field_types(), strict=True)
            return _tuples([_evolve(o, n, f"{path}[{i}]") for i, (o, n) in enumerate(pairs)])
        case MapTypeInfo(), MapTypeInfo() if old._key_type_info == new._key_type_info:
            return _maps(_evolve(old._value_type_info, new._value_type_info, f"{path}{{}}"))
        case ListTypeInfo(), ListTypeInfo():
            return _lists(_evolve(old.elem_type, new.elem_type, f"{path}[]"))
        case ObjectArrayTypeInfo(), ObjectArrayTypeInfo():
            return _lists(_evolve(old._element_type, new._element_type, f"{path}[]"))
    raise Incompatible(f"{_at(path)}{old} is not {new}")


def _at(path: str) -> str:
    return f"in {path.lstrip('.')}: " if path else ""


def _rows(old: RowTypeInfo, new: RowTypeInfo, path: str) -> Convert:
    before = dict(zip(old.get_field_names(), old.get_field_types(), strict=True))
    names = new.get_field_names()
    added, removed = [n for n in names if n not in before], [n for n in before if n not in names]
    if added and removed:
        raise Incompatible(
            f"{_at(path)}fields {added} came and {removed} went at once: whether one was renamed is not known"
        )
    places: Sequence[int | None] = [list(before).index(n) if n in before else None for n in names]
    converters = [
        _evolve(before[name], type_, f"{path}.{name}") if name in before else None
        for name, type_ in zip(names, new.get_field_types(), strict=True)
    ]

    def convert(row: Any) -> Any:
        values = [None if at is None else row[at] for at in places]
        return _make_row(_each(converters, values), names, row.get_row_kind())

    return convert


def _each(converters: Sequence[Convert | None], values: Sequence[Any]) -> list[Any]:
    return [
        value if convert is None or value is None else convert(value)
        for convert, value in zip(converters, values, strict=True)
    ]


def _tuples(converters: Sequence[Convert | None]) -> Convert:
    return lambda values: tuple(_each(converters, values))


def _lists(convert: Convert | None) -> Convert:
    return lambda values: [v if convert is None or v is None else convert(v) for v in values]


def _maps(convert: Convert | None) -> Convert:
    return lambda values: {k: v if convert is None or v is None else convert(v) for k, v in values.items()}
