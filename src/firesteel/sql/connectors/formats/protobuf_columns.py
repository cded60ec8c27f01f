"""Which fields of a Protobuf message the columns of a table are (Flink: ``PbSchemaValidationUtils``).

Columns are found by name, at any depth; a message may have more fields than the table has columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.util.exceptions import TableException

__all__ = ["Shape", "shape_of"]

Convert = Callable[[Any], Any]
_TEXTS: Final = (t.CharType, t.VarCharType)
_BYTES: Final = (t.BinaryType, t.VarBinaryType)
_GROUP, _MESSAGE, _ENUM = 10, 11, 14
_UNSIGNED: Final = {13: 32, 7: 32, 4: 64, 6: 64}  # uint32, fixed32, uint64, fixed64
_INT32: Final = (13, 7, 5, 15, 17)
_INT64: Final = (4, 6, 3, 16, 18)
#: Number of a field's type -> the types that its column may have.
_COLUMNS: Final[dict[int, tuple[type[t.DataType], ...]]] = {
    1: (t.DoubleType,),
    2: (t.FloatType,),
    8: (t.BooleanType,),
    9: _TEXTS,
    12: _BYTES,
    _ENUM: _TEXTS,
    **dict.fromkeys(_INT32, (t.IntType,)),
    **dict.fromkeys(_INT64, (t.BigIntType,)),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """Functions between values of a row of a whole message and those of columns; None: they are equal."""

    read: Convert | None = None
    write: Convert | None = None


def shape_of(descriptor: Any, row: t.RowType, above: str = "") -> Shape:
    """Return how a message is a row: ``read`` gives a ``Row`` of the columns, ``write`` takes one and gives
    a row of all fields.

    :raises TableException: a column is not a field, or one of another type.
    """
    places = {field.name: place for place, field in enumerate(descriptor.fields)}
    found: list[tuple[int, Shape]] = []
    for field in row.fields:
        if field.name not in places:
            raise TableException(
                f"Column {above}{field.name} does not exist in definition of proto class.",
                detail=f"the message {descriptor.full_name}",
                hint=f"its fields are {', '.join(places)}",
            )
        place = places[field.name]
        where = above + field.name
        found.append((place, _field(descriptor.fields[place], field.data_type, where)))
    count, names = len(places), list(row.names)

    def read(message: Sequence[Any]) -> Row:  # hot
        made = Row(*[_applied(shape.read, message[place]) for place, shape in found])
        made.set_field_names(names)
        return made

    def write(values: Sequence[Any]) -> list[Any]:  # hot
        made = [None] * count
        for (place, shape), value in zip(found, values, strict=True):
            made[place] = _applied(shape.write, value)
        return made

    return Shape(read, write)


def _applied(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _field(field: Any, data_type: t.DataType, where: str) -> Shape:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        if not isinstance(data_type, t.MapType):
            raise _misfit(field, data_type, where, "MAP")
        key, item = field.message_type.fields
        _one(key, data_type.key_type, f"{where}.key")
        return _of_map(_one(item, data_type.value_type, f"{where}.value"))
    if field.is_repeated:
        if not isinstance(data_type, t.ArrayType):
            raise _misfit(field, data_type, where, "ARRAY")
        return _of_list(_one(field, data_type.element_type, where))
    return _one(field, data_type, where)


def _of_map(item: Shape) -> Shape:
    def each(convert: Convert | None) -> Convert | None:
        return None if convert is None else lambda value: {k: convert(v) for k, v in value.items()}

    return Shape(each(item.read), each(item.write))


def _of_list(element: Shape) -> Shape:
    def each(convert: Convert | None) -> Convert | None:
        return None if convert is None else lambda value: [convert(part) for part in value]

    return Shape(each(element.read), each(element.write))


def _one(field: Any, data_type: t.DataType, where: str) -> Shape:
    if field.type in (_MESSAGE, _GROUP):
        if not isinstance(data_type, t.RowType):
            raise _misfit(field, data_type, where, "ROW")
        return shape_of(field.message_type, data_type, f"{where}.")
    allowed = _COLUMNS[field.type]
    if not isinstance(data_type, allowed):
        raise _misfit(field, data_type, where, str(allowed[-1]()))
    bits = _UNSIGNED.get(field.type)
    if bits is None:
        return Shape()
    full, half = 1 << bits, 1 << (bits - 1)
    # As in Java, which has no unsigned integers: the same bits.
    return Shape(lambda value: value - full if value >= half else value, lambda value: value % full)


def _misfit(field: Any, data_type: t.DataType, where: str, wanted: str) -> TableException:
    return TableException(
        f"Protobuf field type does not match column type: column {where} is {data_type}.",
        detail=f"the field {field.full_name}",
        hint=f"declare the column as {wanted}",
    )
