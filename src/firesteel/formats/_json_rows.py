"""Records of a declared type from and to JSON (Flink: ``JsonRowDeserializationSchema``)."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from firesteel.common._java_numbers import double_to_string, float_to_string
from firesteel.common.errors import FiresteelError, UnsupportedFeatureError
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import _make_row
from firesteel.formats._csv_columns import Column, column_converter, element_type

Decode = Callable[[Any], Any]
Encode = Callable[[Any], str]

_BYTE: Final = Types.BYTE()


class JsonParseError(FiresteelError, ValueError):
    """A message is no JSON, or not of the declared type."""


def json_decoder(
    type_info: TypeInformation, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False
) -> Callable[[bytes | str], Any]:
    """The function from a message to its record.

    A field that a message does not have becomes None, or is an error; with ``ignore_parse_errors`` a message
    that cannot be read gives None.
    """
    decode = _decoder(type_info, fail_on_missing_field)

    def decode_message(message: bytes | str) -> Any:
        try:
            return decode(json.loads(message, parse_float=_Number))
        except (ValueError, KeyError, TypeError, ArithmeticError) as error:
            if ignore_parse_errors:
                return None
            text = message if isinstance(message, str) else message.decode("utf-8", "replace")
            reason = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise JsonParseError(
                "cannot read JSON", detail=f"{reason}: {text[:500]}", hint="set ignore_parse_errors to go on"
            ) from error

    return decode_message


class _Number(float):
    """A float that remembers how it was written: a decimal takes it from there."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _decoder(type_info: TypeInformation, strict: bool) -> Decode:
    decode = _value_decoder(type_info, strict)
    return lambda value: None if value is None else decode(value)


def _value_decoder(type_info: TypeInformation, strict: bool) -> Decode:
    match type_info:
        case ExternalTypeInfo():
            return _value_decoder(type_info._type_info, strict)
        case RowTypeInfo():
            return _row_decoder(type_info, strict)
        case TupleTypeInfo():
            decoders = [_decoder(type_, strict) for type_ in type_info.get_field_types()]
            return lambda items: tuple(d(v) for d, v in zip(decoders, items, strict=True))
        case MapTypeInfo():
            key = _decoder(type_info._key_type_info, strict)
            item = _decoder(type_info._value_type_info, strict)
            return lambda mapping: {key(k): item(v) for k, v in _object(mapping).items()}
        case BasicTypeInfo():
            return _basic_decoder(type_info)
        case TimestampTypeInfo():
            return lambda value: datetime.datetime.fromisoformat(value).replace(tzinfo=None)
        case TimeTypeInfo():
            return lambda value: datetime.time.fromisoformat(value).replace(tzinfo=None)
        case DateTypeInfo():
            return lambda value: datetime.date.fromisoformat(value)
    element = element_type(type_info)
    if element is None:
        raise UnsupportedFeatureError(f"JSON cannot hold a {type_info}", hint="declare the fields of a row")
    if _is_bytes(type_info):
        return base64.b64decode
    decode = _decoder(element, strict)
    return lambda items: [decode(item) for item in items]


def _is_bytes(type_info: TypeInformation) -> bool:
    kinds = (PrimitiveArrayTypeInfo, ListTypeInfo)
    return isinstance(type_info, kinds) and element_type(type_info) == _BYTE


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"not an object: {_text(value)}")
    return value


def _row_decoder(type_info: RowTypeInfo, strict: bool) -> Decode:
    names = type_info.get_field_names()
    fields = [(n, _decoder(t, strict)) for n, t in zip(names, type_info.get_field_types(), strict=True)]

    def decode(value: Any) -> Any:
        value = _object(value)
        if strict:
            return _make_row([decode_field(value[name]) for name, decode_field in fields], names)
        get = value.get
        return _make_row([decode_field(get(name)) for name, decode_field in fields], names)

    return decode


def _basic_decoder(type_info: BasicTypeInfo) -> Decode:
    match type_info._basic_type:
        case BasicType.STRING:
            return _text
        case BasicType.BOOLEAN:
            return lambda v: v if isinstance(v, bool) else _text(v).strip().lower() == "true"
        case BasicType.DOUBLE:
            return lambda v: float(v)
        case BasicType.BIG_DEC:
            return lambda v: Decimal(_text(v))
        case BasicType.INSTANT:
            raise UnsupportedFeatureError("JSON cannot hold an instant", hint="declare Types.SQL_TIMESTAMP()")
    convert = column_converter(Column("", type_info))  # ranges and rounding are those of CSV
    is_whole = type_info._basic_type is not BasicType.FLOAT

    def number(value: Any) -> Any:
        if is_whole and isinstance(value, _Number):
            raise ValueError(f"not a whole number: {value.text}")
        return convert((_text(value),))[0]

    return number


def json_encoder(type_info: TypeInformation) -> Callable[[Any], bytes]:
    """The function from a record to its message, in UTF-8 and without blanks."""
    encode = _encoder(type_info)
    return lambda record: encode(record).encode()


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _floating(show: Callable[[float], str]) -> Encode:
    # What JSON has no number for goes as text: NaN, Infinity.
    return lambda v: show(v) if v - v == 0 else f'"{show(v)}"'


def _encoder(type_info: TypeInformation) -> Encode:
    encode = _value_encoder(type_info)
    return lambda value: "null" if value is None else encode(value)


def _value_encoder(type_info: TypeInformation) -> Encode:
    match type_info:
        case ExternalTypeInfo():
            return _value_encoder(type_info._type_info)
        case RowTypeInfo():
            names = [_quoted(name) for name in type_info.get_field_names()]
            encoders = [_encoder(type_) for type_ in type_info.get_field_types()]
            return lambda row: (
                "{" + ",".join(f"{n}:{e(v)}" for n, e, v in zip(names, encoders, row, strict=True)) + "}"
            )
        case TupleTypeInfo():
            fields = [_encoder(type_) for type_ in type_info.get_field_types()]
            return lambda record: f"[{','.join(e(v) for e, v in zip(fields, record, strict=True))}]"
        case MapTypeInfo():
            item = _encoder(type_info._value_type_info)
            return lambda mapping: (
                "{" + ",".join(f"{_quoted(str(k))}:{item(v)}" for k, v in mapping.items()) + "}"
            )
        case BasicTypeInfo():
            return _basic_encoder(type_info)
        case TimestampTypeInfo():
            return lambda value: f'"{value.isoformat()}Z"'
        case TimeTypeInfo():
            return lambda value: f'"{value.isoformat()}Z"'
        case DateTypeInfo():
            return lambda value: f'"{value.isoformat()}"'
    element = element_type(type_info)
    if element is None:
        raise UnsupportedFeatureError(f"JSON cannot hold a {type_info}", hint="declare the fields of a row")
    if _is_bytes(type_info):
        return lambda value: _quoted(base64.b64encode(value).decode())
    encode = _encoder(element)
    return lambda items: f"[{','.join(map(encode, items))}]"


def _basic_encoder(type_info: BasicTypeInfo) -> Encode:
    match type_info._basic_type:
        case BasicType.STRING | BasicType.CHAR:
            return _quoted
        case BasicType.BOOLEAN:
            return lambda value: "true" if value else "false"
        case BasicType.FLOAT:
            return _floating(float_to_string)
        case BasicType.DOUBLE:
            return _floating(double_to_string)
        case BasicType.INSTANT:
            raise UnsupportedFeatureError("JSON cannot hold an instant", hint="declare Types.SQL_TIMESTAMP()")
    return str
