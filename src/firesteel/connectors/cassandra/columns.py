"""Which declared types match which columns, and how values are converted."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from firesteel.common.errors import ConfigurationError, TypeMismatchError
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.connectors._column_families import family, instant_to_datetime

Convert: TypeAlias = Callable[[Any], Any]

_AS_IT_IS: Final = None
_OF_SCALAR: Final[Mapping[str, Mapping[str, Convert | None]]] = MappingProxyType(
    {
        "integer": dict.fromkeys(("tinyint", "smallint", "int", "bigint", "varint", "counter"), _AS_IT_IS),
        "number": dict.fromkeys(("float", "double"), _AS_IT_IS),
        "decimal": {"decimal": _AS_IT_IS},
        "boolean": {"boolean": _AS_IT_IS},
        "text": {
            **dict.fromkeys(("text", "varchar", "ascii", "inet"), _AS_IT_IS),
            **dict.fromkeys(("uuid", "timeuuid"), uuid.UUID),
        },
        "date": dict.fromkeys(("date", "timestamp"), _AS_IT_IS),
        "time": {"time": _AS_IT_IS},
        "timestamp": {"timestamp": _AS_IT_IS},
        "instant": {"timestamp": instant_to_datetime},
        "bytes": {"blob": _AS_IT_IS},
    }
)
_ARRAYS: Final = (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)
_BYTES: Final = (Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.LIST(Types.BYTE()))


def binder(
    types: Sequence[TypeInformation], statement: Any
) -> Callable[[Sequence[Any]], list[tuple[Any, ...]]]:
    """Return the function that converts rows with fields of these types to parameters of a prepared
    statement.

    :raises ConfigurationError: the numbers of parameters and fields differ.
    :raises TypeMismatchError: a field does not match its parameter.
    """
    columns = statement.column_metadata or ()
    if len(columns) != len(types):
        raise ConfigurationError(
            f"The query has {len(columns)} parameters, the rows have {len(types)} fields.",
            detail=f"the query: {statement.query_string}",
            hint="write a ? for each field of the declared row, in their order",
        )
    fields = [_fit_column(declared, column) for declared, column in zip(types, columns, strict=True)]
    converters = [(i, convert) for i, convert in enumerate(fields) if convert is not None]
    if not converters:
        return lambda rows: [tuple(row) for row in rows]

    def convert_all(rows: Sequence[Any]) -> list[tuple[Any, ...]]:  # hot
        found = []
        for row in rows:
            values = list(row)
            for i, convert in converters:
                if values[i] is not None:
                    values[i] = convert(values[i])
            found.append(tuple(values))
        return found

    return convert_all


def _fit_column(declared: TypeInformation, column: Any) -> Convert | None:
    try:
        return _fit(declared, column.type)
    except _MisfitError as error:
        raise TypeMismatchError(
            f"The declared type {declared} does not fit the parameter for {column.name!r}: there it is "
            f"{column.type.cql_parameterized_type()}.",
            detail=f"the table is {column.keyspace_name}.{column.table_name}",
            hint="declare the type that goes with the column",
        ) from error


class _MisfitError(Exception):
    """Raised for a mismatch anywhere within two types."""


def _fit(declared: TypeInformation, column: Any) -> Convert | None:
    """Return the function that converts a value of the declared type to the column's; None if none is
    needed."""
    from cassandra.cqltypes import ListType, MapType, SetType, TupleType

    while isinstance(declared, ExternalTypeInfo):
        declared = declared._type_info
    if isinstance(declared, (RowTypeInfo, TupleTypeInfo)):
        types = declared.get_field_types()
        if issubclass(column, TupleType) and len(types) == len(column.subtypes):  # or a user-defined type
            return _fields([_fit(*pair) for pair in zip(types, column.subtypes, strict=True)])
    elif isinstance(declared, MapTypeInfo):
        if issubclass(column, MapType):
            keys, values = column.subtypes
            return _entries(_fit(declared._key_type_info, keys), _fit(declared._value_type_info, values))
    elif declared not in _BYTES and isinstance(declared, (*_ARRAYS, ListTypeInfo)):
        if issubclass(column, (ListType, SetType)):
            element = declared.elem_type if isinstance(declared, ListTypeInfo) else declared._element_type
            return _elements(_fit(element, column.subtypes[0]))
    else:
        kind = "bytes" if declared in _BYTES else family(declared)
        if column.typename in _OF_SCALAR.get(kind, {}):
            return _OF_SCALAR[kind][column.typename]
    raise _MisfitError


def _or_none(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _fields(converters: Sequence[Convert | None]) -> Convert:
    found = list(map(_or_none, converters))
    return lambda row: tuple(convert(value) for convert, value in zip(found, row, strict=True))


def _elements(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    one = _or_none(convert)
    return lambda values: [one(value) for value in values]


def _entries(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None
    of_key, of_value = _or_none(key), _or_none(value)
    return lambda entries: {of_key(k): of_value(v) for k, v in entries.items()}
