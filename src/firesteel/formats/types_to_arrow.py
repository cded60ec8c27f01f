"""Arrow types of declared types, for tables and columnar files. PyArrow is imported on first use."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from firesteel.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    DecimalTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
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
from firesteel.common.errors import UnsupportedFeatureError

Path = tuple[str, ...]  # of a field in nested rows

# A BigDecimal has no fixed precision; Flink's tables take DECIMAL(38, 18) for it
_DECIMAL = (38, 18)


def to_arrow_type(type_info: TypeInformation | None) -> Any:
    """Return the ``pyarrow.DataType`` of a declared type.

    :raises UnsupportedFeatureError: there is none: any Python object, or a type of another package.
    """
    return _convert(type_info, "")


def to_arrow_schema(type_info: TypeInformation | None) -> Any:
    """Return the ``pyarrow.Schema`` of a stream: one column for each field of a row or tuple (``f0``, ``f1``
    and so on if there are no names), or a single column ``value``."""
    import pyarrow as pa

    inner = type_info._type_info if isinstance(type_info, ExternalTypeInfo) else type_info
    if isinstance(inner, (RowTypeInfo, TupleTypeInfo)):
        return pa.schema(_fields(inner, ""))
    return pa.schema([pa.field("value", _convert(inner, ""), nullable=False)])


def with_instants(schema: Any) -> Any:
    """Return a ``pyarrow.Schema`` in which every timestamp is in UTC."""
    import pyarrow as pa

    def instants(type_: Any) -> Any:
        if pa.types.is_timestamp(type_):
            return pa.timestamp(type_.unit, "UTC")
        if pa.types.is_struct(type_):
            return pa.struct([field(type_.field(i)) for i in range(type_.num_fields)])
        if pa.types.is_map(type_):
            return pa.map_(instants(type_.key_type), instants(type_.item_type))
        if pa.types.is_list(type_):
            return pa.list_(field(type_.value_field))
        return type_

    def field(column: Any) -> Any:
        return column.with_type(instants(column.type))

    return pa.schema([field(column) for column in schema])


def with_required(schema: Any, required: Collection[Path]) -> Any:
    """Return a ``pyarrow.Schema`` in which the fields at the paths *required* are not nullable."""
    import pyarrow as pa

    def field(column: Any, path: Path) -> Any:
        type_ = column.type
        if pa.types.is_struct(type_):
            inner = [type_.field(i) for i in range(type_.num_fields)]
            type_ = pa.struct([field(child, (*path, child.name)) for child in inner])
        return pa.field(column.name, type_, column.nullable and path not in required)

    return pa.schema([field(column, (column.name,)) for column in schema]) if required else schema


def _convert(type_info: TypeInformation | None, path: str) -> Any:
    import pyarrow as pa

    match type_info:
        case ExternalTypeInfo():
            return _convert(type_info._type_info, path)
        case DecimalTypeInfo():
            return pa.decimal128(type_info.precision, type_info.scale)
        case BasicTypeInfo():
            return _basic(type_info)
        case DateTypeInfo():
            return pa.date32()
        case TimeTypeInfo():
            return pa.time32("ms")
        case TimestampTypeInfo():
            return pa.timestamp("us")
        case LocalTimeTypeInfo():
            return {
                LocalTimeTypeInfo.TimeType.LOCAL_DATE: pa.date32(),
                LocalTimeTypeInfo.TimeType.LOCAL_TIME: pa.time64("us"),
                LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: pa.timestamp("us"),
            }[type_info._time_type]
        case RowTypeInfo() | TupleTypeInfo():
            return pa.struct(_fields(type_info, path))
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
            return _array(type_info, path)
        case MapTypeInfo():
            key = _convert(type_info._key_type_info, f"{path} key")
            return pa.map_(key, _convert(type_info._value_type_info, f"{path} value"))
        case _:
            raise UnsupportedFeatureError(
                f"there is no column type for {type_info or 'a stream without a declared type'}",
                detail=f"at {path.strip().lstrip('.')}" if path else None,
                hint="declare output_type=Types.ROW_NAMED([...], [...]) on the operator before",
            )


def _basic(type_info: BasicTypeInfo) -> Any:
    import pyarrow as pa

    return {
        BasicType.STRING: pa.string(),
        BasicType.CHAR: pa.string(),
        BasicType.BOOLEAN: pa.bool_(),
        BasicType.BYTE: pa.int8(),
        BasicType.SHORT: pa.int16(),
        BasicType.INT: pa.int32(),
        BasicType.LONG: pa.int64(),
        BasicType.FLOAT: pa.float32(),
        BasicType.DOUBLE: pa.float64(),
        BasicType.BIG_INT: pa.decimal128(38, 0),
        BasicType.BIG_DEC: pa.decimal128(*_DECIMAL),
        BasicType.INSTANT: pa.timestamp("us", tz="UTC"),
    }[type_info._basic_type]


def _fields(type_info: RowTypeInfo | TupleTypeInfo, path: str) -> list[Any]:
    import pyarrow as pa

    types = type_info.get_field_types()
    is_row = isinstance(type_info, RowTypeInfo)
    names = [f"f{i}" for i in range(len(types))]
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
    return [
        # fields of a row may be None, those of a tuple may not
        pa.field(name, _convert(field, f"{path}.{name}"), nullable=is_row)
        for name, field in zip(names, types, strict=True)
    ]


def _array(type_info: Any, path: str) -> Any:
    import pyarrow as pa

    nullable = isinstance(type_info, (BasicArrayTypeInfo, ObjectArrayTypeInfo))
    element = type_info.elem_type if isinstance(type_info, ListTypeInfo) else type_info._element_type
    if not nullable and element == BasicTypeInfo.BYTE_TYPE_INFO():
        return pa.binary()  # its values are bytes in Python
    return pa.list_(pa.field("element", _convert(element, f"{path} element"), nullable=nullable))
