"""Whether Python values are of a declared type, as PyFlink verifies elements (``verify_schema``).

Stricter than the conversion to columns, which takes what can be made a value of the type.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.sql import types as t

__all__ = ["verify"]

#: the classes whose objects are values of a type
_ACCEPTED: Final[Mapping[type[t.DataType], tuple[type, ...]]] = {
    t.BooleanType: (bool,),
    t.TinyIntType: (int,),
    t.SmallIntType: (int,),
    t.IntType: (int,),
    t.BigIntType: (int,),
    t.FloatType: (float,),
    t.DoubleType: (float,),
    t.DecimalType: (Decimal,),
    t.CharType: (str,),
    t.VarCharType: (str,),
    t.BinaryType: (bytearray, bytes),
    t.VarBinaryType: (bytearray, bytes),
    t.DateType: (dt.date, dt.datetime),
    t.TimeType: (dt.time,),
    t.TimestampType: (dt.datetime,),
    t.LocalZonedTimestampType: (dt.datetime, Instant),
    t.ArrayType: (list, tuple, array),
    t.MapType: (dict,),
}
_BITS: Final[Mapping[type[t.DataType], int]] = {
    t.TinyIntType: 8,
    t.SmallIntType: 16,
    t.IntType: 32,
    t.BigIntType: 64,
}


def verify(value: Any, data_type: t.DataType, what: str) -> None:
    """Check a value and all that is in it.

    :param what: how errors call it.
    :raises TypeMismatchError: it is of another class.
    :raises ProgramError: it is None, too long or out of range.
    """
    if value is None:
        if not data_type.nullable:
            raise _wrong(f"{what} is NOT NULL, and got None.", value, data_type)
        return
    accepted = _ACCEPTED.get(type(data_type))
    if accepted is not None and type(value) not in accepted:
        raise TypeMismatchError(
            f"{what} cannot take a value of type {type(value).__name__}.",
            detail=f"{value!r:.200} for {data_type}",
            hint="convert it, or pass verify_schema=False to have it converted where that can be done",
        )
    check = _CHECKS.get(type(data_type))
    if check is not None:
        check(value, data_type, what)


def _wrong(message: str, value: Any, data_type: t.DataType) -> ProgramError:
    return ProgramError(message, detail=f"{value!r:.200} for {data_type}")


def _integer(value: Any, data_type: t.DataType, what: str) -> None:
    limit = 1 << _BITS[type(data_type)] - 1
    if not -limit <= value < limit:
        raise _wrong(f"{what} is out of range.", value, data_type)


def _exact_length(value: Any, data_type: Any, what: str) -> None:
    if len(value) != data_type.length:
        raise _wrong(f"{what} must have the length {data_type.length}.", value, data_type)


def _at_most(value: Any, data_type: Any, what: str) -> None:
    if len(value) > data_type.length:
        raise _wrong(f"{what} may have at most the length {data_type.length}.", value, data_type)


def _array(value: Any, data_type: Any, what: str) -> None:
    for element in value:
        verify(element, data_type.element_type, f"An element of {what}")


def _map(value: Any, data_type: Any, what: str) -> None:
    for key, held in value.items():
        verify(key, data_type.key_type, f"A key of {what}")
        verify(held, data_type.value_type, f"A value of {what}")


def _row(value: Any, data_type: Any, what: str) -> None:
    for held, field in zip(_fields(value, data_type, what), data_type.fields, strict=True):
        verify(held, field.data_type, f"The field {field.name!r} of {what}")


def _fields(value: Any, data_type: Any, what: str) -> Sequence[Any]:
    names = data_type.names
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, Row) and value._fields:
        return [value[name] for name in names]
    if isinstance(value, Row | tuple | list):
        if len(value) != len(names):
            raise _wrong(f"{what} has {len(value)} values for {len(names)} fields.", value, data_type)
        return list(value)
    if hasattr(value, "__dict__"):
        return [vars(value).get(name) for name in names]
    raise TypeMismatchError(
        f"{what} cannot take a value of type {type(value).__name__}.", detail=f"{value!r:.200}"
    )


_CHECKS: Final[Mapping[type[t.DataType], Callable[[Any, Any, str], None]]] = {
    **dict.fromkeys(_BITS, _integer),
    t.CharType: _exact_length,
    t.BinaryType: _exact_length,
    t.VarCharType: _at_most,
    t.VarBinaryType: _at_most,
    t.ArrayType: _array,
    t.MapType: _map,
    t.RowType: _row,
}
