"""Converts records of a declared type from and to JSON (Flink: ``JsonRowDeserializationSchema``)."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring  # json.dumps creates an encoder for each call
from types import CodeType
from typing import Any, Final, NamedTuple

import msgspec

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
from firesteel.common.types import Row, _make_row
from firesteel.formats.csv_columns import Column, column_converter, element_type
from firesteel.formats.json_structs import base64_of, struct_decoder, time_of, timestamp_of
from firesteel.formats.text import utf8

Decode = Callable[[Any], Any]
Ignore = Callable[[], None]
Encode = Callable[[Any], str]

_BYTE: Final = Types.BYTE()
_SHORT_TEXT: Final = 40  # characters
_encode_long_text: Final = msgspec.json.Encoder().encode


#: RecursionError: the message is nested too deeply.
PARSE_ERRORS: Final = (
    ValueError,
    KeyError,
    TypeError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)


class JsonParseError(FiresteelError, ValueError):
    """Raised when a message is not JSON or does not match the declared type."""


def json_decoder(
    type_info: TypeInformation, fail_on_missing_field: bool = False, ignore: Ignore | None = None
) -> Callable[[bytes], Any]:
    """Return the function from a message to its record.

    A missing field becomes None or is an error. With ``ignore``, which is called for each error, a value that
    cannot be read becomes None, and for a message that cannot be read the function returns None.
    """
    decode = value_decoder(type_info, fail_on_missing_field, ignore)
    read_common = struct_decoder(type_info, fail_on_missing_field)

    def decode_message(message: bytes) -> Any:  # hot
        if read_common is not None:
            try:
                return read_common(message)
            except Exception:
                pass  # an unusual message; examine it below
        try:
            return decode(parse_json(message))
        except PARSE_ERRORS as error:
            _pass_over(error, message, ignore)
            return None

    return decode_message


def json_elements_decoder(
    type_info: TypeInformation, fail_on_missing_field: bool = False, ignore: Ignore | None = None
) -> Callable[[bytes], Sequence[Any]]:
    """Return the function from a message to its records: those of its elements if it is an array, where null
    is none, or one. The parameters are those of ``json_decoder``."""
    decode_one = json_decoder(type_info, fail_on_missing_field, ignore)
    decode = value_decoder(type_info, fail_on_missing_field, ignore)

    def decode_message(message: bytes) -> Sequence[Any]:
        if message[:1] == b"{" or message.lstrip()[:1] != b"[":
            record = decode_one(message)
            return () if record is None else (record,)
        try:
            records = [decode(element) for element in parse_json(message)]
        except PARSE_ERRORS as error:
            _pass_over(error, message, ignore)
            return ()
        return [record for record in records if record is not None]

    return decode_message


def _pass_over(error: Exception, message: bytes, ignore: Ignore | None) -> None:
    if ignore is not None:
        ignore()
        return
    raise JsonParseError(
        f"cannot read JSON: {reason_of(error)}",
        detail=message[:500].decode("utf-8", "replace"),
        hint="set ignore_parse_errors to go on",
    ) from error


def reason_of(error: Exception) -> str:
    """Return the text of one of PARSE_ERRORS."""
    return f"field {error} is missing" if isinstance(error, KeyError) else str(error)


def parse_json(message: bytes) -> Any:
    """Parse a message. Numbers with a decimal point remember their text."""
    return json.loads(message, parse_float=_Number, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class _Number(float):
    """A float that remembers its text, from which a decimal is made exactly."""

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


def value_decoder(type_info: TypeInformation, strict: bool, ignore: Ignore | None) -> Decode:
    """Return the function from a parsed JSON value to a value of a type; the parameters are those of
    ``json_decoder``."""
    decode = _value_decoder(type_info, strict, ignore)
    if ignore is None:
        return lambda value: None if value is None else decode(value)

    def decode_or_ignore(value: Any) -> Any:
        if value is None:
            return None
        try:
            return decode(value)
        except PARSE_ERRORS:
            ignore()
            return None

    return decode_or_ignore


def _value_decoder(type_info: TypeInformation, strict: bool, ignore: Ignore | None) -> Decode:
    match type_info:
        case ExternalTypeInfo():
            return _value_decoder(type_info._type_info, strict, ignore)
        case RowTypeInfo():
            return _row_decoder(type_info, strict, ignore)
        case TupleTypeInfo():
            decoders = [value_decoder(type_, strict, ignore) for type_ in type_info.get_field_types()]
            return lambda items: tuple(d(v) for d, v in zip(decoders, items, strict=True))
        case MapTypeInfo():
            key = value_decoder(type_info._key_type_info, strict, ignore)
            item = value_decoder(type_info._value_type_info, strict, ignore)
            return lambda mapping: {key(k): item(v) for k, v in _object(mapping).items()}
        case BasicTypeInfo():
            return _basic_decoder(type_info)
        case TimestampTypeInfo():
            return timestamp_of
        case TimeTypeInfo():
            return time_of
        case DateTypeInfo():
            return datetime.date.fromisoformat
    element = element_type(type_info)
    if element is None:
        raise UnsupportedFeatureError(f"JSON cannot hold a {type_info}", hint="declare the fields of a row")
    if _is_bytes(type_info):
        return base64_of
    decode = value_decoder(element, strict, ignore)
    return lambda items: [decode(item) for item in items]


def _is_bytes(type_info: TypeInformation) -> bool:
    kinds = (PrimitiveArrayTypeInfo, ListTypeInfo)
    return isinstance(type_info, kinds) and element_type(type_info) == _BYTE


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"not an object: {_text(value)}")
    return value


def _row_decoder(type_info: RowTypeInfo, strict: bool, ignore: Ignore | None) -> Decode:
    names, types = type_info.get_field_names(), type_info.get_field_types()
    fields = [(n, value_decoder(t, strict, ignore)) for n, t in zip(names, types, strict=True)]

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
        case BasicType.BIG_DEC:
            return lambda v: Decimal(_text(v))
        case BasicType.INSTANT:
            raise UnsupportedFeatureError("JSON cannot hold an instant", hint="declare Types.SQL_TIMESTAMP()")
    convert = column_converter(Column("", type_info))  # ranges and rounding are those of CSV
    is_whole = type_info._basic_type not in (BasicType.FLOAT, BasicType.DOUBLE)

    def number(value: Any) -> Any:
        if is_whole and isinstance(value, _Number):
            exact = Decimal(value.text)
            if exact != exact.to_integral_value():  # Flink silently truncates it
                raise ValueError(f"not a whole number: {value.text}")
            value = int(exact)
        return convert((_text(value),))[0]

    return number


class ValueFormat(NamedTuple):
    """How timestamps, times and decimals are written."""

    timestamp: Encode
    time: Encode
    decimal: Encode = str


RFC_3339: Final = ValueFormat(
    lambda value: f'"{value.isoformat()}Z"', lambda value: f'"{value.isoformat()}Z"'
)


def json_encoder(type_info: TypeInformation) -> Callable[[Any], bytes]:
    """Return the function from a record to its message, in UTF-8 and without blanks."""
    encode = _value_encoder(type_info, RFC_3339)
    return lambda record: b"null" if record is None else utf8(encode(record))


def json_batch_encoder(type_info: TypeInformation) -> Callable[[Iterable[Any]], list[bytes]]:
    """As ``json_encoder``, for many records at once."""
    if isinstance(type_info, RowTypeInfo):
        encode_all: Callable[[Iterable[Any]], list[bytes]] = _row_functions(type_info, RFC_3339)["encode_all"]
        return encode_all
    encode = json_encoder(type_info)
    return lambda records: [encode(record) for record in records]


def _floating(show: Callable[[float], str]) -> Encode:
    # Values that JSON has no number for are written as text: NaN, Infinity.
    return lambda v: show(v) if v - v == 0 else f'"{show(v)}"'


def value_encoder(type_info: TypeInformation, form: ValueFormat) -> Encode:
    """Return the function from a value to its JSON text."""
    encode = _value_encoder(type_info, form)
    return lambda value: "null" if value is None else encode(value)


def _value_encoder(type_info: TypeInformation, form: ValueFormat) -> Encode:
    match type_info:
        case ExternalTypeInfo():
            return _value_encoder(type_info._type_info, form)
        case RowTypeInfo():
            return _row_encoder(type_info, form)
        case TupleTypeInfo():
            fields = [value_encoder(type_, form) for type_ in type_info.get_field_types()]
            return lambda record: f"[{','.join(e(v) for e, v in zip(fields, record, strict=True))}]"
        case MapTypeInfo():
            item = value_encoder(type_info._value_type_info, form)
            return lambda mapping: (
                "{" + ",".join(f"{encode_basestring(str(k))}:{item(v)}" for k, v in mapping.items()) + "}"
            )
        case BasicTypeInfo(_basic_type=BasicType.BIG_DEC):
            return form.decimal
        case BasicTypeInfo():
            return _basic_encoder(type_info)
        case TimestampTypeInfo():
            return form.timestamp
        case TimeTypeInfo():
            return form.time
        case DateTypeInfo():
            return lambda value: f'"{value.isoformat()}"'
    element = element_type(type_info)
    if element is None:
        raise UnsupportedFeatureError(f"JSON cannot hold a {type_info}", hint="declare the fields of a row")
    if _is_bytes(type_info):
        return lambda value: encode_basestring(base64.b64encode(value).decode())
    encode = value_encoder(element, form)
    return lambda items: f"[{','.join([encode(item) for item in items])}]"


def _row_encoder(type_info: RowTypeInfo, form: ValueFormat) -> Encode:
    encode: Encode = _row_functions(type_info, form)["encode"]
    return encode


def _row_functions(type_info: RowTypeInfo, form: ValueFormat) -> dict[str, Any]:
    """Generate ``encode`` and ``encode_all`` for the fields: looping over the fields would take longer than
    encoding small ones."""
    namespace: dict[str, Any] = {"NULL": "null", "Row": Row, "quote": encode_basestring, "utf8": utf8}
    pieces, targets = [], ""
    fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    for i, (name, type_) in enumerate(fields):
        field = f"f{i}"
        encode = namespace[f"encode{i}"] = _value_encoder(type_, form)
        text = field if encode is str else f"encode{i}({field})"
        if encode is _encode_text:  # inlined, to save the call
            text = f"{text} if type({field}) is str and len({field}) > {_SHORT_TEXT} else quote({field})"
        literal = encode_basestring(name).replace("{", "{{").replace("}", "}}")
        pieces.append(f"{literal}:{{NULL if {field} is None else {text}}}")
        targets += f"{field}, "
    template = repr("{{" + ",".join(pieces) + "}}")
    exec(_row_code(targets, template), namespace)
    return namespace


_ROW_SOURCE = """
def encode(row):  # hot
    [{targets}] = row._values if type(row) is Row else row
    return f{template}

def encode_all(rows):  # hot
    out = []
    append = out.append
    for row in rows:
        if row is None:
            append(b"null")
            continue
        [{targets}] = row._values if type(row) is Row else row
        text = f{template}
        try:
            append(text.encode())
        except UnicodeEncodeError:
            append(utf8(text))
    return out
"""


@lru_cache(256)
def _row_code(targets: str, template: str) -> CodeType:
    return compile(_ROW_SOURCE.format(targets=targets, template=template), "<rows to JSON>", "exec")


def _encode_text(value: str) -> str:
    """Encode a text. Both ways give the same result: one has less overhead, the other is five times faster
    for long texts."""
    if type(value) is str and len(value) > _SHORT_TEXT:
        try:
            return _encode_long_text(value).decode()
        except UnicodeEncodeError:  # a lone surrogate
            pass
    return encode_basestring(value)


def _basic_encoder(type_info: BasicTypeInfo) -> Encode:
    match type_info._basic_type:
        case BasicType.STRING | BasicType.CHAR:
            return _encode_text
        case BasicType.BOOLEAN:
            return lambda value: "true" if value else "false"
        case BasicType.FLOAT:
            return _floating(float_to_string)
        case BasicType.DOUBLE:
            return _floating(double_to_string)
        case BasicType.INSTANT:
            raise UnsupportedFeatureError("JSON cannot hold an instant", hint="declare Types.SQL_TIMESTAMP()")
    return str
