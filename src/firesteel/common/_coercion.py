"""What a declared type does to a batch of records on their way out of an operator.

In PyFlink the coders of the wire do this by the way: a FLOAT is rounded to 32 bits, a row gets the declared
field names, an int becomes a float where DOUBLE is declared. Here records stay Python objects, so it is
done by a function that is generated for the type: one loop with the checks of all fields in line, since
it runs for each record (invariant I5). What does not pass the checks takes the slower way through
``_coerce_values``, which either converts it or knows why it cannot.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from array import array
from collections.abc import Callable
from typing import Any, Literal

from firesteel.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from firesteel.common._coerce_values import INTEGER_BITS, Converter, Mismatch, converter
from firesteel.common._composite_types import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo
from firesteel.common._java_numbers import to_float32
from firesteel.common.errors import TypeMismatchError
from firesteel.common.types import Row, _make_row

BatchCoercion = Callable[[list[Any]], list[Any]]

_MAX_SHOWN = 200


def compile_coercion(
    type_info: TypeInformation | None, *, origin: Literal["operator", "collection"] = "operator"
) -> BatchCoercion | None:
    """A function that coerces a list of records to ``type_info``; None: there is nothing to do.

    The function returns the same list when no record had to change, a new one otherwise; it never changes
    a record in place. It raises ``TypeMismatchError`` for the first record that does not fit.

    :param origin: ``"operator"``: what a function returned; a ROW is a Row, a TUPLE a tuple.
        ``"collection"``: elements of ``from_collection``; tuples, lists, dicts and objects become rows, lists
        and rows become tuples, and numbers must be of the declared kind.
    """
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info._type_info
    if type_info is None:
        return None
    convert = converter(type_info, source=origin == "collection")
    if convert is None:
        return None
    if origin == "collection":
        return _one_by_one(convert, type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _generate_fields(type_info, convert, "tuple")
    if isinstance(type_info, RowTypeInfo):
        return _generate_fields(type_info, convert, "row")
    if _is_float32(type_info):
        return _floats(convert, type_info)
    check = _inline_check(type_info)
    if check is None:
        return _one_by_one(convert, type_info)
    source = _LOOP_UNCHANGED.format(test=check.format(x="v"))
    return _compile(source, type_info, convert, {})


def _one_by_one(convert: Converter, type_info: TypeInformation) -> BatchCoercion:
    def coerce(values: list[Any]) -> list[Any]:
        out: list[Any] = []
        append = out.append
        try:
            for value in values:
                append(convert(value))
        except Mismatch as mismatch:
            raise _error(values[len(out)], len(out), type_info, mismatch) from None
        return out

    return coerce


def _floats(convert: Converter, type_info: TypeInformation) -> BatchCoercion:
    one_by_one = _one_by_one(convert, type_info)

    def coerce(values: list[Any]) -> list[Any]:  # hot
        if set(map(type, values)) == {float}:
            return array("f", values).tolist()
        return one_by_one(values)

    return coerce


# -- generated code


def _is_float32(type_info: TypeInformation) -> bool:
    return isinstance(type_info, BasicTypeInfo) and type_info._basic_type is BasicType.FLOAT


def _inline_check(type_info: TypeInformation) -> str | None:
    """A test of ``{x}`` that is true only for values that are already as the type wants them; None: there
    is no short one. For FLOAT the value still has to be rounded."""
    if isinstance(type_info, DateTypeInfo):
        return "type({x}) is date"
    if isinstance(type_info, TimeTypeInfo):
        return "type({x}) is time and {x}.microsecond % 1000 == 0 and {x}.tzinfo is None"
    if isinstance(type_info, TimestampTypeInfo):
        return "type({x}) is datetime and {x}.microsecond % 1000 == 0 and {x}.tzinfo is None"
    if not isinstance(type_info, BasicTypeInfo):
        return None
    kind = type_info._basic_type
    if kind in INTEGER_BITS:
        half = 1 << (INTEGER_BITS[kind] - 1)
        return f"type({{x}}) is int and {-half} <= {{x}} < {half}"
    return _BASIC_CHECKS.get(kind)


_BASIC_CHECKS = {
    BasicType.STRING: "type({x}) is str",
    BasicType.BOOLEAN: "type({x}) is bool",
    BasicType.FLOAT: "type({x}) is float",
    BasicType.DOUBLE: "type({x}) is float",
    BasicType.BIG_INT: "type({x}) is int",
    BasicType.BIG_DEC: "type({x}) is Decimal and {x}.is_finite()",
    BasicType.CHAR: "type({x}) is str and len({x}) == 1",
    BasicType.INSTANT: "type({x}) is Instant",
}

_LOOP_UNCHANGED = """
def coerce(values):  # hot
    for v in values:
        if not ({test}):
            return convert_all(values)
    return values
"""

_LOOP_TUPLE_UNCHANGED = """
def coerce(values):  # hot
    for v in values:
        if type(v) is tuple and len(v) == {width}:
            {targets} = v
            if {test}:
                continue
        return convert_all(values)
    return values
"""

_LOOP_TUPLE = """
def coerce(values):  # hot
    out = []
    append = out.append
    try:
        for v in values:
            if type(v) is tuple and len(v) == {width}:
                {targets} = v
                if {test}:
                    {round}
                    append(({built},))
                    continue
            append(convert(v))
    except Mismatch as mismatch:
        raise error(values[len(out)], len(out), type_info, mismatch) from None
    return out
"""

_LOOP_ROW = """
def coerce(values):  # hot
    out = []
    append = out.append
    try:
        for v in values:
            if type(v) is Row and ((names := v._fields) is NAMES or names is None or names == NAMES):
                x = v._values
                if len(x) == {width}:
                    {targets} = x
                    if {test}:
                        {round}
                        append(make_row([{built}], NAMES, v._row_kind))
                        continue
            append(convert(v))
    except Mismatch as mismatch:
        raise error(values[len(out)], len(out), type_info, mismatch) from None
    return out
"""


def _generate_fields(
    type_info: TupleTypeInfo | RowTypeInfo, convert: Converter, shape: Literal["tuple", "row"]
) -> BatchCoercion:
    fields = type_info.get_field_types()
    names = [f"f{i}" for i in range(len(fields))]
    tests: list[str] = []
    floats: list[str] = []
    namespace: dict[str, Any] = {}
    for name, field in zip(names, fields, strict=True):
        if _is_float32(field):
            floats.append(name)
        check = _inline_check(field)
        if check is not None:
            test = check.format(x=name)
            # None goes the slow way where a value is to be rounded: struct cannot pack it
            nullable = shape == "row" and not _is_float32(field)
            tests.append(f"({test} or {name} is None)" if nullable else f"{test}")
        elif converter(field) is not None:
            # A field without a short test is converted by the slower way, and the whole record with it.
            return _one_by_one(convert, type_info)
    targets = ", ".join(names) + ("," if names else "")
    if not names:
        return _one_by_one(convert, type_info)
    if shape == "tuple" and not floats:
        loop = _LOOP_TUPLE_UNCHANGED
    else:
        loop = _LOOP_TUPLE if shape == "tuple" else _LOOP_ROW
    rounding = "pass"
    if floats:
        packer = struct.Struct(f"<{len(floats)}f")
        namespace |= {"pack": packer.pack, "unpack": packer.unpack, "to_float32": to_float32}
        listed = ", ".join(floats)
        rounding = (
            f"try: {listed}, = unpack(pack({listed}))\n"
            f"{' ' * (20 if shape == 'tuple' else 24)}except OverflowError: "
            + "; ".join(f"{name} = to_float32({name})" for name in floats)
        )
    if isinstance(type_info, RowTypeInfo):
        namespace["NAMES"] = type_info.get_field_names()
    source = loop.format(
        width=len(fields),
        targets=targets,
        test=" and ".join(tests) or "True",
        round=rounding,
        built=", ".join(names),
    )
    return _compile(source, type_info, convert, namespace)


def _compile(
    source: str, type_info: TypeInformation, convert: Converter, namespace: dict[str, Any]
) -> BatchCoercion:
    from firesteel.common.time import Instant

    namespace |= {
        "Decimal": decimal.Decimal,
        "Instant": Instant,
        "Mismatch": Mismatch,
        "Row": Row,
        "convert": convert,
        "convert_all": _one_by_one(convert, type_info),
        "date": datetime.date,
        "datetime": datetime.datetime,
        "error": _error,
        "make_row": _make_row,
        "time": datetime.time,
        "type_info": type_info,
    }
    exec(compile(source, f"<coercion to {type_info}>", "exec"), namespace)
    coerce: BatchCoercion = namespace["coerce"]
    return coerce


# -- errors


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


_HINTS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (RowTypeInfo, "return Row(...) where a ROW is declared"),
    (TupleTypeInfo, "return a tuple of exactly the declared fields where a TUPLE is declared"),
)


def _error(record: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
    path = "".join(mismatch.path)
    where = f"record {index} of the batch" + (f", field {path}" if path else "")
    hint = next((text for kind, text in _HINTS if isinstance(mismatch.type_info, kind)), None)
    if hint is None:
        hint = "return a value of the declared type, or declare another type (none: any Python object)"
    if mismatch.value is None and not path:
        hint = "None is a record only where no type is declared; leave the record out with filter or flat_map"
    return TypeMismatchError(
        f"{_shown(mismatch.value)} does not fit the declared type {mismatch.type_info}: {mismatch.reason}",
        detail=f"{where}; the record is {_shown(record)}, declared as {declared}",
        hint=hint,
    )
