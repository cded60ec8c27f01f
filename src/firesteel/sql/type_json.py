"""Types as JSON, in the form of Flink's SQL gateway (``LogicalTypeJsonSerializer``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t

__all__ = ["type_from_json", "type_to_json"]

Made = dict[str, Any]

#: By class: Flink's name of the type root, and the fields that are attributes of the type.
_ROOTS: Final[Mapping[type[t.DataType], tuple[str, Mapping[str, str]]]] = {
    t.BooleanType: ("BOOLEAN", {}),
    t.TinyIntType: ("TINYINT", {}),
    t.SmallIntType: ("SMALLINT", {}),
    t.IntType: ("INTEGER", {}),
    t.BigIntType: ("BIGINT", {}),
    t.FloatType: ("FLOAT", {}),
    t.DoubleType: ("DOUBLE", {}),
    t.DateType: ("DATE", {}),
    t.CharType: ("CHAR", {"length": "length"}),
    t.VarCharType: ("VARCHAR", {"length": "length"}),
    t.BinaryType: ("BINARY", {"length": "length"}),
    t.VarBinaryType: ("VARBINARY", {"length": "length"}),
    t.DecimalType: ("DECIMAL", {"precision": "precision", "scale": "scale"}),
    t.TimeType: ("TIME_WITHOUT_TIME_ZONE", {"precision": "precision"}),
    t.TimestampType: ("TIMESTAMP_WITHOUT_TIME_ZONE", {"precision": "precision"}),
    t.LocalZonedTimestampType: ("TIMESTAMP_WITH_LOCAL_TIME_ZONE", {"precision": "precision"}),
    t.YearMonthIntervalType: (
        "INTERVAL_YEAR_MONTH",
        {"precision": "precision", "resolution": "resolution"},
    ),
    t.DayTimeIntervalType: (
        "INTERVAL_DAY_TIME",
        {
            "precision": "day_precision",
            "fractionalPrecision": "fractional_precision",
            "resolution": "resolution",
        },
    ),
    t.ArrayType: ("ARRAY", {}),
    t.MultisetType: ("MULTISET", {}),
    t.MapType: ("MAP", {}),
    t.RowType: ("ROW", {}),
    t.VariantType: ("VARIANT", {}),
    t.BitmapType: ("BITMAP", {}),
}
_CLASSES: Final = {root: kind for kind, (root, _) in _ROOTS.items()}


def type_to_json(data_type: t.DataType) -> Made:
    """
    >>> type_to_json(t.DecimalType(10, 2))
    {'type': 'DECIMAL', 'nullable': True, 'precision': 10, 'scale': 2}
    """
    if isinstance(data_type, t.NullType):
        return {"type": "NULL"}
    if type(data_type) not in _ROOTS:
        raise UnsupportedFeatureError(f"The type {data_type} has no form for clients of the SQL gateway.")
    root, fields = _ROOTS[type(data_type)]
    made: Made = {"type": root, "nullable": data_type.nullable}
    made.update({name: getattr(data_type, attribute) for name, attribute in fields.items()})
    match data_type:
        case t.ArrayType() | t.MultisetType():
            made["elementType"] = type_to_json(data_type.element_type)
        case t.MapType():
            made["keyType"] = type_to_json(data_type.key_type)
            made["valueType"] = type_to_json(data_type.value_type)
        case t.RowType():
            made["fields"] = [_field(f) for f in data_type.fields]
    return made


def _field(field: t.RowField) -> Made:
    made: Made = {"name": field.name, "fieldType": type_to_json(field.data_type)}
    return made if field.description is None else made | {"description": field.description}


def type_from_json(made: Mapping[str, Any]) -> t.DataType:
    """The type of a text of ``type_to_json``, or of Flink's gateway.

    :raises UnsupportedFeatureError: there is no such type here.
    """
    if made["type"] == "NULL":
        return t.NullType()
    kind = _CLASSES.get(made["type"])
    if kind is None:
        raise UnsupportedFeatureError(f"There is no type {made['type']} here.")
    given = {attribute: made[name] for name, attribute in _ROOTS[kind][1].items() if name in made}
    given["nullable"] = made.get("nullable", True)
    nested = _NESTED.get(kind)
    return kind(**given, **({} if nested is None else nested(made)))


def _fields_of(made: Mapping[str, Any]) -> Made:
    fields = (
        t.RowField(f["name"], type_from_json(f["fieldType"]), f.get("description")) for f in made["fields"]
    )
    return {"fields": tuple(fields)}


_NESTED: Final[Mapping[type[t.DataType], Callable[[Mapping[str, Any]], Made]]] = {
    t.ArrayType: lambda made: {"element_type": type_from_json(made["elementType"])},
    t.MultisetType: lambda made: {"element_type": type_from_json(made["elementType"])},
    t.MapType: lambda made: {
        "key_type": type_from_json(made["keyType"]),
        "value_type": type_from_json(made["valueType"]),
    },
    t.RowType: _fields_of,
}
