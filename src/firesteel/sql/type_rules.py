"""Rules between types: common types, implicit and explicit casts, what can be compared, derived decimals.

After Flink's ``LogicalTypeMerging`` and ``LogicalTypeCasts``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from firesteel.sql import types as t

__all__ = [
    "APPROXIMATE",
    "BINARY",
    "CHARACTER",
    "DATETIME",
    "EXACT",
    "INTEGER",
    "INTERVAL",
    "NUMERIC",
    "average_type",
    "common_type",
    "comparable",
    "decimal_divide",
    "decimal_modulo",
    "decimal_of",
    "decimal_plus",
    "decimal_round",
    "decimal_times",
    "explicitly_castable",
    "implicitly_castable",
    "is_null_type",
    "sum_type",
]

MAX_PRECISION: Final = 38
_MIN_SCALE: Final = 6

INTEGER: Final = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
EXACT: Final = (*INTEGER, t.DecimalType)
APPROXIMATE: Final = (t.FloatType, t.DoubleType)
NUMERIC: Final = (*EXACT, *APPROXIMATE)
CHARACTER: Final = (t.CharType, t.VarCharType)
BINARY: Final = (t.BinaryType, t.VarBinaryType)
TIMESTAMPS: Final = (t.TimestampType, t.LocalZonedTimestampType)
DATETIME: Final = (t.DateType, t.TimeType, *TIMESTAMPS)
INTERVAL: Final = (t.YearMonthIntervalType, t.DayTimeIntervalType)
CONSTRUCTED: Final = (t.ArrayType, t.MapType, t.MultisetType, t.RowType)
_WIDTH: Final[dict[type[t.DataType], int]] = {
    t.TinyIntType: 3,
    t.SmallIntType: 5,
    t.IntType: 10,
    t.BigIntType: 19,
}


def is_null_type(data_type: t.DataType) -> bool:
    return isinstance(data_type, t.NullType)


# ---- decimals


def decimal_of(data_type: t.DataType) -> t.DecimalType | None:
    """The DECIMAL that holds every value of an exact number type."""
    if isinstance(data_type, t.DecimalType):
        return data_type
    width = _WIDTH.get(type(data_type))
    return None if width is None else t.DecimalType(precision=width, nullable=data_type.nullable)


def _adjusted(precision: int, scale: int, nullable: bool) -> t.DecimalType:
    """Fit into 38 digits; of the scale 6 digits, or all if it has fewer, are kept."""
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, _MIN_SCALE))
        precision = MAX_PRECISION
    return t.DecimalType(precision=precision, scale=scale, nullable=nullable)


def decimal_plus(a: t.DecimalType, b: t.DecimalType) -> t.DecimalType:
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    return _adjusted(precision, scale, a.nullable or b.nullable)


def decimal_times(a: t.DecimalType, b: t.DecimalType) -> t.DecimalType:
    return _adjusted(a.precision + b.precision + 1, a.scale + b.scale, a.nullable or b.nullable)


def decimal_divide(a: t.DecimalType, b: t.DecimalType) -> t.DecimalType:
    scale = max(_MIN_SCALE, a.scale + b.precision + 1)
    return _adjusted(a.precision - a.scale + b.scale + scale, scale, a.nullable or b.nullable)


def decimal_modulo(a: t.DecimalType, b: t.DecimalType) -> t.DecimalType:
    scale = max(a.scale, b.scale)
    precision = min(a.precision - a.scale, b.precision - b.scale) + scale
    return _adjusted(precision, scale, a.nullable or b.nullable)


def decimal_round(a: t.DecimalType, digits: int) -> t.DecimalType:
    if digits >= a.scale:
        return a
    whole = 1 + a.precision - a.scale
    precision, scale = (
        (min(MAX_PRECISION, whole), 0) if digits < 0 else (min(MAX_PRECISION, whole + digits), digits)
    )
    return t.DecimalType(precision=precision, scale=scale, nullable=a.nullable)


def sum_type(data_type: t.DataType) -> t.DataType:
    if isinstance(data_type, t.DecimalType):
        return t.DecimalType(precision=MAX_PRECISION, scale=data_type.scale, nullable=data_type.nullable)
    return data_type


def average_type(data_type: t.DataType) -> t.DataType:
    """Of AVG, and of STDDEV and VAR."""
    if isinstance(data_type, t.DecimalType):
        scale = max(_MIN_SCALE, data_type.scale)
        return t.DecimalType(precision=MAX_PRECISION, scale=scale, nullable=data_type.nullable)
    return data_type


# ---- the type that holds values of all


def common_type(types: Sequence[t.DataType]) -> t.DataType | None:
    """The type to which all of *types* can be cast implicitly; None: there is none, or all are NULL.

    It is nullable if one of them is.
    """
    nullable = any(d.nullable or is_null_type(d) for d in types)
    known = [d.with_nullability(nullable) for d in types if not is_null_type(d)]
    if not known:
        return None
    found: t.DataType | None = known[0]
    for data_type in known[1:]:
        found = None if found is None else _common(found, data_type)
    return None if found is None else found.with_nullability(nullable)


def _common(a: t.DataType, b: t.DataType) -> t.DataType | None:
    if a == b:
        return a
    for family, merge in _MERGES:
        if isinstance(a, family) and isinstance(b, family):
            return merge(a, b)
    return None


def _common_text(a: t.CharType | t.VarCharType, b: t.CharType | t.VarCharType) -> t.DataType:
    length = max(a.length, b.length)
    if isinstance(a, t.CharType) and isinstance(b, t.CharType) and a.length == b.length:
        return t.CharType(length=length, nullable=a.nullable)
    return t.VarCharType(length=length, nullable=a.nullable)


def _common_bytes(a: t.BinaryType | t.VarBinaryType, b: t.BinaryType | t.VarBinaryType) -> t.DataType:
    length = max(a.length, b.length)
    if isinstance(a, t.BinaryType) and isinstance(b, t.BinaryType) and a.length == b.length:
        return t.BinaryType(length=length, nullable=a.nullable)
    return t.VarBinaryType(length=length, nullable=a.nullable)


def _common_number(a: t.DataType, b: t.DataType) -> t.DataType:
    if isinstance(a, APPROXIMATE) and isinstance(b, APPROXIMATE):
        return t.DoubleType(nullable=a.nullable) if type(a) is not type(b) else a
    if isinstance(b, APPROXIMATE):
        a, b = b, a
    if isinstance(a, APPROXIMATE):
        return t.DoubleType(nullable=a.nullable) if isinstance(b, t.DecimalType) else a
    if isinstance(a, INTEGER) and isinstance(b, INTEGER):
        return a if _WIDTH[type(a)] >= _WIDTH[type(b)] else b
    left, right = decimal_of(a), decimal_of(b)
    assert left is not None
    assert right is not None
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    precision = min(whole + scale, MAX_PRECISION)
    return t.DecimalType(precision=precision, scale=min(scale, precision), nullable=a.nullable)


def _common_datetime(a: t.DataType, b: t.DataType) -> t.DataType | None:
    if type(a) is type(b):
        return a if _precision(a) >= _precision(b) else b
    precision = max(_precision(d) for d in (a, b))
    if isinstance(a, t.LocalZonedTimestampType) or isinstance(b, t.LocalZonedTimestampType):
        return t.LocalZonedTimestampType(precision=precision, nullable=a.nullable)
    return t.TimestampType(precision=precision, nullable=a.nullable)


def _precision(data_type: t.DataType) -> int:
    return getattr(data_type, "precision", 0)


_YEAR_MONTH_UNITS: Final = ("YEAR", "MONTH")
_DAY_TIME_UNITS: Final = ("DAY", "HOUR", "MINUTE", "SECOND")


def _span(a: str, b: str, units: tuple[str, ...]) -> str:
    positions = [units.index(part) for text in (a, b) for part in text.split("_TO_")]
    first, last = units[min(positions)], units[max(positions)]
    return first if first == last else f"{first}_TO_{last}"


def _common_months(a: t.YearMonthIntervalType, b: t.YearMonthIntervalType) -> t.DataType:
    resolution = _span(a.resolution, b.resolution, _YEAR_MONTH_UNITS)
    return t.YearMonthIntervalType(
        resolution=resolution, precision=max(a.precision, b.precision), nullable=a.nullable
    )


def _common_millis(a: t.DayTimeIntervalType, b: t.DayTimeIntervalType) -> t.DataType:
    return t.DayTimeIntervalType(
        resolution=_span(a.resolution, b.resolution, _DAY_TIME_UNITS),
        day_precision=max(a.day_precision, b.day_precision),
        fractional_precision=max(a.fractional_precision, b.fractional_precision),
        nullable=a.nullable,
    )


def _common_element(a: t.DataType, b: t.DataType) -> t.DataType | None:
    return t.NullType() if is_null_type(a) and is_null_type(b) else common_type((a, b))


def _common_array(a: t.ArrayType, b: t.ArrayType) -> t.DataType | None:
    element = _common_element(a.element_type, b.element_type)
    return None if element is None else t.ArrayType(element_type=element, nullable=a.nullable)


def _common_multiset(a: t.MultisetType, b: t.MultisetType) -> t.DataType | None:
    element = _common_element(a.element_type, b.element_type)
    return None if element is None else t.MultisetType(element_type=element, nullable=a.nullable)


def _common_map(a: t.MapType, b: t.MapType) -> t.DataType | None:
    key = _common_element(a.key_type, b.key_type)
    value = _common_element(a.value_type, b.value_type)
    if key is None or value is None:
        return None
    return t.MapType(key_type=key, value_type=value, nullable=a.nullable)


def _common_row(a: t.RowType, b: t.RowType) -> t.DataType | None:
    if len(a.fields) != len(b.fields):
        return None
    found = [_common_element(x, y) for x, y in zip(a.types, b.types, strict=True)]
    if any(d is None for d in found):
        return None
    fields = tuple(
        t.RowField(f.name, d, f.description) for f, d in zip(a.fields, found, strict=True) if d is not None
    )
    return t.RowType(fields=fields, nullable=a.nullable)


_MERGES: Final[Sequence[tuple[tuple[type[t.DataType], ...], Callable[..., t.DataType | None]]]] = (
    (CHARACTER, _common_text),
    (BINARY, _common_bytes),
    (NUMERIC, _common_number),
    (DATETIME, _common_datetime),
    ((t.YearMonthIntervalType,), _common_months),
    ((t.DayTimeIntervalType,), _common_millis),
    ((t.ArrayType,), _common_array),
    ((t.MultisetType,), _common_multiset),
    ((t.MapType,), _common_map),
    ((t.RowType,), _common_row),
)


# ---- casts

_Kinds = frozenset[type[t.DataType]]


def _kinds(*families: type[t.DataType] | tuple[type[t.DataType], ...]) -> _Kinds:
    flat: list[type[t.DataType]] = []
    for family in families:
        flat.extend(family if isinstance(family, tuple) else (family,))
    return frozenset(flat)


_PREDEFINED: Final = (t.BooleanType, *NUMERIC, *CHARACTER, *BINARY, *DATETIME, *INTERVAL)
_TO_NUMBER: Final = _kinds(NUMERIC, CHARACTER, t.BooleanType)
_TO_INTEGER: Final = _TO_NUMBER

#: target -> (from where implicitly, from where explicitly as well)
_CASTS: Final[dict[type[t.DataType], tuple[_Kinds, _Kinds]]] = {
    t.CharType: (_kinds(t.CharType), _kinds(_PREDEFINED, CONSTRUCTED, t.BitmapType)),
    t.VarCharType: (_kinds(CHARACTER), _kinds(_PREDEFINED, CONSTRUCTED, t.BitmapType)),
    t.BooleanType: (_kinds(t.BooleanType), _kinds(CHARACTER, NUMERIC)),
    t.BinaryType: (_kinds(t.BinaryType), _kinds(CHARACTER, BINARY, t.RawType)),
    t.VarBinaryType: (_kinds(BINARY), _kinds(CHARACTER, t.RawType)),
    t.DecimalType: (_kinds(NUMERIC), _TO_NUMBER),
    t.TinyIntType: (_kinds(t.TinyIntType), _TO_INTEGER),
    t.SmallIntType: (_kinds(t.TinyIntType, t.SmallIntType), _TO_INTEGER),
    t.IntType: (_kinds(INTEGER[:3]), _TO_INTEGER),
    t.BigIntType: (_kinds(INTEGER), _TO_INTEGER),
    t.FloatType: (_kinds(EXACT, t.FloatType), _TO_NUMBER),
    t.DoubleType: (_kinds(NUMERIC), _TO_NUMBER),
    t.DateType: (_kinds(t.DateType, t.TimestampType), _kinds(TIMESTAMPS, CHARACTER)),
    t.TimeType: (_kinds(t.TimeType, t.TimestampType), _kinds(TIMESTAMPS, CHARACTER)),
    t.TimestampType: (_kinds(TIMESTAMPS), _kinds(DATETIME, CHARACTER)),
    t.LocalZonedTimestampType: (_kinds(TIMESTAMPS), _kinds(DATETIME, CHARACTER)),
    t.YearMonthIntervalType: (_kinds(t.YearMonthIntervalType), _kinds(EXACT)),
    t.DayTimeIntervalType: (_kinds(t.DayTimeIntervalType), _kinds(EXACT)),
    t.VariantType: (_kinds(t.VariantType), frozenset()),
    t.BitmapType: (_kinds(t.BitmapType), frozenset()),
    t.RawType: (_kinds(t.RawType), frozenset()),
    t.SymbolType: (_kinds(t.SymbolType), frozenset()),
}


def implicitly_castable(source: t.DataType, target: t.DataType) -> bool:
    """Whether a value goes where *target* is needed without a CAST in the text."""
    return _castable(source, target, explicit=False)


def explicitly_castable(source: t.DataType, target: t.DataType) -> bool:
    """Whether ``CAST(x AS target)`` is allowed for an ``x`` of *source*."""
    return _castable(source, target, explicit=True)


def _castable(source: t.DataType, target: t.DataType, explicit: bool) -> bool:
    if is_null_type(source):
        return True
    if not explicit and source.nullable and not target.nullable:
        return False
    if isinstance(target, CONSTRUCTED) or isinstance(source, CONSTRUCTED):
        return _constructed_castable(source, target, explicit)
    implicit, more = _CASTS.get(type(target), (frozenset(), frozenset()))
    return type(source) in implicit or (explicit and type(source) in more)


def _constructed_castable(source: t.DataType, target: t.DataType, explicit: bool) -> bool:
    if isinstance(source, CONSTRUCTED) and isinstance(target, CHARACTER):
        return explicit and all(
            explicitly_castable(c, t.VarCharType()) for c in source.children if not is_null_type(c)
        )
    same = type(source) is type(target) or (
        isinstance(source, t.MultisetType) and isinstance(target, t.MapType)
    )
    if not same:
        return False
    own, wanted = source.children, target.children
    if isinstance(source, t.MultisetType) and isinstance(target, t.MapType):
        own = (*own, t.IntType(nullable=False))
    return len(own) == len(wanted) and all(
        _castable(a, b, explicit) for a, b in zip(own, wanted, strict=True)
    )


# ---- comparisons


def comparable(a: t.DataType, b: t.DataType, *, equality: bool) -> bool:
    """Whether ``=`` and ``<>`` (*equality*), or ``<`` and its like are defined between two types."""
    if is_null_type(a) or is_null_type(b):
        return True
    families = (
        CHARACTER,
        BINARY,
        NUMERIC,
        (t.BooleanType,),
        (t.YearMonthIntervalType,),
        (t.DayTimeIntervalType,),
    )
    if any(isinstance(a, f) and isinstance(b, f) for f in families):
        return True
    if isinstance(a, DATETIME) and isinstance(b, DATETIME):
        whole = (t.DateType, t.TimeType)  # which are compared with their own kind alone
        return type(a) is type(b) or (not isinstance(a, whole) and not isinstance(b, whole))
    if type(a) is not type(b):
        return False
    if isinstance(a, (t.VariantType, t.BitmapType, t.RawType)):
        return equality and not isinstance(a, t.RawType)
    if isinstance(a, CONSTRUCTED):
        pairs = list(zip(a.children, b.children, strict=False))
        return (
            equality
            and len(a.children) == len(b.children)
            and all(comparable(x, y, equality=True) for x, y in pairs)
        )
    return False


def common_of(types: Sequence[t.DataType]) -> t.DataType:
    """The common type, or NULL where all are NULL; for types known to have one."""
    found = common_type(types)
    return t.NullType() if found is None else found
