"""What a declared key type does to the keys of a batch: as in PyFlink, keys that become equal meet, and the
functions see them as they became. A key may be None, whatever is declared.

The entries of a declared MAP have no order (Java's ``HashMap``): they are put in that of their keys, so that
dicts that compare equal are one key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common._basic_types import TypeInformation
from firesteel.common._coerce_values import Mismatch
from firesteel.common._coercion import BatchCoercion, compile_coercion, shown, untouched
from firesteel.common._composite_types import ListTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo
from firesteel.common.errors import TypeMismatchError
from firesteel.common.types import Row, _make_row


def compile_key_coercion(key_type: TypeInformation | None) -> BatchCoercion | None:
    """A function that coerces a list of keys; None: there is nothing to do.

    The function returns the same list when no key had to change. It raises ``TypeMismatchError`` for the
    first key that does not fit.
    """
    coerce = compile_coercion(key_type, error=_key_error)
    if coerce is None:
        return None
    untouched_kind = untouched(key_type)
    order = _ordering(key_type)
    if order is not None:
        coerce = _then(coerce, order)

    def coerced(keys: list[Any]) -> list[Any]:  # hot
        kinds = set(map(type, keys))
        if kinds == {untouched_kind}:
            return keys
        if type(None) not in kinds:
            return coerce(keys)
        present = iter(coerce([key for key in keys if key is not None]))
        return [None if key is None else next(present) for key in keys]

    return coerced


def _then(coerce: BatchCoercion, each: Callable[[Any], Any]) -> BatchCoercion:
    return lambda values: list(map(each, coerce(values)))


def _ordering(type_info: TypeInformation | None) -> Callable[[Any], Any] | None:
    """A function that puts the maps in a value of the type in order; None: there are none."""
    match type_info:
        case MapTypeInfo():
            of_keys = _ordering(type_info._key_type_info) or _as_it_is
            of_values = _ordering(type_info._value_type_info) or _as_it_is
            return lambda value: _sorted_map(value, of_keys, of_values)
        case ListTypeInfo():
            of_element = _ordering(type_info.elem_type)
            return None if of_element is None else lambda value: value and list(map(of_element, value))
        case RowTypeInfo() | TupleTypeInfo():
            parts = [_ordering(part) for part in type_info.get_field_types()]
            return None if not any(parts) else lambda value: value and _with_fields(value, parts)
    return None


def _as_it_is(value: Any) -> Any:
    return value


def _sorted_map(
    value: dict[Any, Any] | None, of_keys: Callable[[Any], Any], of_values: Callable[[Any], Any]
) -> dict[Any, Any] | None:
    if value is None:
        return None
    entries = {of_keys(key): of_values(item) for key, item in value.items()}
    return {key: entries[key] for key in sorted(entries, key=repr)}


def _with_fields(value: Any, parts: list[Callable[[Any], Any] | None]) -> Any:
    fields = [
        field if part is None or field is None else part(field)
        for field, part in zip(value, parts, strict=True)
    ]
    if not isinstance(value, Row):
        return tuple(fields)
    return _make_row(fields, getattr(value, "_fields", None), value.get_row_kind())


def _key_error(key: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
    path = "".join(mismatch.path)
    return TypeMismatchError(
        f"{shown(mismatch.value)} does not fit the declared key type {declared}: {mismatch.reason}",
        detail=f"it is {path} of the key {shown(key)}" if path else None,
        hint="let the key selector return what key_type declares, or declare another key_type "
        "(none: any object whose pickled form is stable)",
    )
