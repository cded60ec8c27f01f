"""What a declared type does to a batch of records on their way out of an operator.

In PyFlink the coders of the wire do this by the way: a FLOAT is rounded to 32 bits, a row gets the declared
field names, an int becomes a float where DOUBLE is declared. Here records stay Python objects, so a function
does it that is made for the type and takes whole batches, since it sees each record: in C where msgspec knows
the type, else one generated loop with the checks of all fields in line. What does not pass takes the slower
way through ``_coerce_values``, which converts it or knows why it cannot.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from array import array
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from types import CodeType, GenericAlias
from typing import Annotated, Any, Literal

import msgspec

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
from firesteel.common.errors import FiresteelError, TypeMismatchError
from firesteel.common.types import Row

Shape = Literal["tuple", "row"]
BatchCoercion = Callable[[list[Any]], list[Any]]
#: Makes the error for a value that does not fit: the record, its place in the batch, its type, what is wrong.
ErrorMaker = Callable[[Any, int, TypeInformation, Mismatch], FiresteelError]

_MAX_SHOWN = 200


def compile_coercion(
    type_info: TypeInformation | None,
    *,
    origin: Literal["operator", "collection"] = "operator",
    error: ErrorMaker | None = None,
) -> BatchCoercion | None:
    """A function that coerces a list of records to ``type_info``; None: there is nothing to do.

    The function returns the same list or a new one; it never changes a record in place. It raises
    ``TypeMismatchError``, or what ``error`` makes, for the first record that does not fit.

    :param origin: ``"operator"``: what a function returned; a ROW is a Row, a TUPLE a tuple.
        ``"collection"``: elements of ``from_collection``; tuples, lists, dicts and objects become rows, lists
        and rows become tuples, and numbers must be of the declared kind.
    """
    type_info = _unwrapped(type_info)
    if type_info is None:
        return None
    convert = converter(type_info, source=origin == "collection")
    if convert is None:
        return None
    error = error or record_error
    if origin == "collection":
        return _one_by_one(convert, type_info, error)
    if (whole := _in_c(type_info, convert, error)) is not None:
        return whole
    if isinstance(type_info, TupleTypeInfo):
        return _generate_fields(type_info, convert, error, "tuple")
    if isinstance(type_info, RowTypeInfo):
        return _generate_fields(type_info, convert, error, "row")
    if _is_float32(type_info):
        return _floats(convert, type_info, error)
    check = _inline_check(type_info)
    if check is None:
        return _one_by_one(convert, type_info, error)
    source = _LOOP_UNCHANGED.format(test=check.format(x="v"))
    return _compile(source, type_info, convert, error, {})


def compile_value_coercion(type_info: TypeInformation | None, error: ErrorMaker) -> Converter | None:
    """The same for a single value, such as one of state."""
    type_info = _unwrapped(type_info)
    convert = converter(type_info)
    if type_info is None or convert is None:
        return None
    check = None if _is_float32(type_info) else _inline_check(type_info)
    if check is None and isinstance(type_info, (TupleTypeInfo, RowTypeInfo)):
        shape: Shape = "tuple" if isinstance(type_info, TupleTypeInfo) else "row"
        coerce = _generate_fields(type_info, convert, error, shape)
        return lambda value: coerce([value])[0]
    source = _VALUE.format(test="False" if check is None else check.format(x="v"))
    return _compile(source, type_info, convert, error, {})


def untouched(type_info: TypeInformation | None) -> type | None:
    """The class of values that a type leaves alone and that cannot be changed; None: there is none, or
    values have to be looked at. The width of a LONG is left to those who write it."""
    type_info = _unwrapped(type_info)
    if isinstance(type_info, DateTypeInfo):
        return datetime.date
    return _UNTOUCHED.get(type_info._basic_type) if isinstance(type_info, BasicTypeInfo) else None


def never_changes(type_info: TypeInformation | None) -> bool:
    """Whether nobody can change a value of a type."""
    type_info = _unwrapped(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return all(map(never_changes, type_info.get_field_types()))
    return untouched(type_info) is not None


def _unwrapped(type_info: TypeInformation | None) -> TypeInformation | None:
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info._type_info
    return type_info


def _one_by_one(convert: Converter, type_info: TypeInformation, error: ErrorMaker) -> BatchCoercion:
    def coerce(values: list[Any]) -> list[Any]:
        out: list[Any] = []
        append = out.append
        try:
            for value in values:
                append(convert(value))
        except Mismatch as mismatch:
            raise error(values[len(out)], len(out), type_info, mismatch) from None
        return out

    return coerce


def _floats(convert: Converter, type_info: TypeInformation, error: ErrorMaker) -> BatchCoercion:
    one_by_one = _one_by_one(convert, type_info, error)

    def coerce(values: list[Any]) -> list[Any]:  # hot
        if set(map(type, values)) == {float}:
            return array("f", values).tolist()
        return one_by_one(values)

    return coerce


# -- in C


def _int_of(bits: int) -> Any:
    half = 1 << (bits - 1)
    return Annotated[int, msgspec.Meta(ge=-half, le=half - 1)]


#: How msgspec calls a type. It makes plain ints of their subclasses, and floats of ints.
_CHECKED_IN_C = {kind: _int_of(bits) for kind, bits in INTEGER_BITS.items()} | {
    BasicType.BIG_INT: int,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.STRING: str,
}


def _in_c(type_info: TypeInformation, convert: Converter, error: ErrorMaker) -> BatchCoercion | None:
    """Numbers, texts and tuples of them are checked by msgspec, two to five times faster than by a loop here.
    None: the type is none of these."""
    if isinstance(type_info, TupleTypeInfo):
        fields = [_type_in_c(field) for field in type_info.get_field_types()]
        if not fields or None in fields:
            return None
        checked: Any = GenericAlias(tuple, tuple(fields))
        shape: frozenset[type] | None = frozenset((tuple,))
        texts: list[Callable[[Any], Any] | None] = [itemgetter(i) for i, t in enumerate(fields) if t is str]
    else:
        shape = None
        checked = _type_in_c(type_info)
        if checked is None:
            return None
        texts = [None] if checked is str else []
    return _checked_by_msgspec(list[checked], _one_by_one(convert, type_info, error), shape, texts)


def _type_in_c(type_info: TypeInformation) -> Any:
    return _CHECKED_IN_C.get(type_info._basic_type) if isinstance(type_info, BasicTypeInfo) else None


def _checked_by_msgspec(
    checked: Any,
    convert_all: BatchCoercion,
    shape: frozenset[type] | None,
    texts: list[Callable[[Any], Any] | None],
) -> BatchCoercion:
    """``shape``: what records must be exactly; ``texts``: where the texts of a record are. msgspec takes
    other sequences and subclasses for them, too."""
    plain = frozenset((str,))

    def coerce(values: list[Any]) -> list[Any]:  # hot
        if shape is None or shape.issuperset(map(type, values)):
            try:
                out: list[Any] = msgspec.convert(values, checked)
            except msgspec.ValidationError:
                return convert_all(values)
            if all(plain.issuperset(map(type, map(text, out) if text else out)) for text in texts):
                return out
        return convert_all(values)

    return coerce


# -- generated code


def _is_float32(type_info: TypeInformation) -> bool:
    return isinstance(type_info, BasicTypeInfo) and type_info._basic_type is BasicType.FLOAT


def _inline_check(type_info: TypeInformation) -> str | None:
    """Return a test of ``{x}`` that is true only for values that already conform to the type, or None where
    there is no short one. A FLOAT still has to be rounded."""
    if isinstance(type_info, DateTypeInfo):
        return "type({x}) is date"
    if isinstance(type_info, TimeTypeInfo):
        return "type({x}) is time and {x}.microsecond % 1000 == 0 and {x}.tzinfo is None"
    if isinstance(type_info, TimestampTypeInfo):
        return "type({x}) is datetime and {x}.microsecond % 1000 == 0 and {x}.tzinfo is None"
    if isinstance(type_info, TupleTypeInfo):
        return _inline_tuple_check(type_info)
    if not isinstance(type_info, BasicTypeInfo):
        return None
    kind = type_info._basic_type
    if kind in INTEGER_BITS:
        half = 1 << (INTEGER_BITS[kind] - 1)
        return f"type({{x}}) is int and {-half} <= {{x}} < {half}"
    return _BASIC_CHECKS.get(kind)


def _inline_tuple_check(type_info: TupleTypeInfo) -> str | None:
    fields = type_info.get_field_types()
    tests = [f"type({{x}}) is tuple and len({{x}}) == {len(fields)}"]
    for i, field in enumerate(fields):
        if converter(field) is None:
            continue
        check = None if _is_float32(field) else _inline_check(field)
        if check is None:
            return None
        tests.append(check.format(x=f"{{x}}[{i}]"))
    return " and ".join(tests)


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

_UNTOUCHED: dict[BasicType, type] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.LONG: int,
    BasicType.BIG_INT: int,
}

_VALUE = """
def coerce(v):  # hot
    if {test}:
        return v
    try:
        return convert(v)
    except Mismatch as mismatch:
        raise error(v, 0, type_info, mismatch) from None
"""

_LOOP_UNCHANGED = """
def coerce(values):  # hot
    for v in values:
        if not ({test}):
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
                        row = new(Row)  # as _make_row, in place
                        row._values = [{built}]
                        row._fields = NAMES
                        row._row_kind = v._row_kind
                        append(row)
                        continue
            append(convert(v))
    except Mismatch as mismatch:
        raise error(values[len(out)], len(out), type_info, mismatch) from None
    return out
"""


def _generate_fields(
    type_info: TupleTypeInfo | RowTypeInfo,
    convert: Converter,
    error: ErrorMaker,
    shape: Shape,
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
            return _one_by_one(convert, type_info, error)
    targets = ", ".join(names) + ("," if names else "")
    if not names:
        return _one_by_one(convert, type_info, error)
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
    return _compile(source, type_info, convert, error, namespace)


def _compile(
    source: str,
    type_info: TypeInformation,
    convert: Converter,
    error: ErrorMaker,
    namespace: dict[str, Any],
) -> Callable[[Any], Any]:
    from firesteel.common.time import Instant

    namespace |= {
        "Decimal": decimal.Decimal,
        "Instant": Instant,
        "Mismatch": Mismatch,
        "Row": Row,
        "convert": convert,
        "convert_all": _one_by_one(convert, type_info, error),
        "date": datetime.date,
        "datetime": datetime.datetime,
        "error": error,
        "new": Row.__new__,
        "time": datetime.time,
        "type_info": type_info,
    }
    exec(_code(source, str(type_info)), namespace)
    coerce: Callable[[Any], Any] = namespace["coerce"]
    return coerce


@lru_cache(256)
def _code(source: str, declared: str) -> CodeType:
    """Compiled once for all operators and states of a type: this takes longer than to build its source."""
    return compile(source, f"<coercion to {declared}>", "exec")


# -- errors


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


_HINTS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (RowTypeInfo, "return Row(...) where a ROW is declared"),
    (TupleTypeInfo, "return a tuple of exactly the declared fields where a TUPLE is declared"),
)


def record_error(record: Any, index: int, declared: TypeInformation, mismatch: Mismatch) -> TypeMismatchError:
    path = "".join(mismatch.path)
    where = f"record {index} of the batch" + (f", field {path}" if path else "")
    hint = next((text for kind, text in _HINTS if isinstance(mismatch.type_info, kind)), None)
    if hint is None:
        hint = "return a value of the declared type, or declare another type (none: any Python object)"
    if mismatch.value is None and not path:
        hint = "None is a record only where no type is declared; leave the record out with filter or flat_map"
    return TypeMismatchError(
        f"{shown(mismatch.value)} does not fit the declared type {mismatch.type_info}: {mismatch.reason}",
        detail=f"{where}; the record is {shown(record)}, declared as {declared}",
        hint=hint,
    )
