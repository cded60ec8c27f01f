"""+ - * / % and unary minus, on numbers; with intervals they are in ``temporal_arithmetic.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import decimals, type_rules as r, types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.context import CallSite
from firesteel.sql.functions import temporal_arithmetic as temporal
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing
from firesteel.sql.functions.rules import INTERVAL, NUMBER, any_of, first, takes

DecimalRule = Callable[[t.DecimalType, t.DecimalType], t.DecimalType]


def _known(call: CallTypes) -> tuple[t.DataType, t.DataType] | None:
    """The two types; NULL has that of the other one."""
    if len(call.types) != 2:
        return None
    a, b = call.types
    if r.is_null_type(a) and r.is_null_type(b):
        a = b = t.IntType()
    if r.is_null_type(a):
        a = b.with_nullability(True)
    if r.is_null_type(b):
        b = a.with_nullability(True)
    return a, b


def numbers(derived: DecimalRule, more: TypeRule | None = None) -> TypeRule:
    """The rule of an operator on two numbers. :param more: what else it takes."""

    def rule(call: CallTypes) -> Typing | None:
        known = _known(call)
        if known is not None and all(isinstance(d, r.NUMERIC) for d in known):
            return _numbers(*known, derived)
        return None if more is None else more(call)

    return rule


def _numbers(a: t.DataType, b: t.DataType, derived: DecimalRule) -> Typing:
    nullable = a.nullable or b.nullable
    if isinstance(a, r.APPROXIMATE) or isinstance(b, r.APPROXIMATE):
        result = _approximate(a, b).with_nullability(nullable)
        wide = r.common_of((a, b))
        return Typing(result, tuple(wide.with_nullability(d.nullable) for d in (a, b)))
    if isinstance(a, r.INTEGER) and isinstance(b, r.INTEGER):
        found = r.common_of((a, b))
        return Typing(found, tuple(found.with_nullability(d.nullable) for d in (a, b)))
    left, right = r.decimal_of(a), r.decimal_of(b)
    assert left is not None
    assert right is not None
    return Typing(derived(left, right), (left, right))


def _approximate(a: t.DataType, b: t.DataType) -> t.DataType:
    """FLOAT and DOUBLE have one precision for Calcite, so the left one's type is the result's."""
    if isinstance(a, r.APPROXIMATE) and isinstance(b, r.APPROXIMATE):
        return a
    return r.common_of((a, b))


def _kernel(
    plain: Callable[[Any, Any], Any], exact: Callable[[Any, Any, t.DecimalType], Any], sign: int = 1
) -> Callable[..., Any]:
    """:param sign: of an interval by which a point of time is moved."""

    def compute(site: CallSite, a: Any, b: Any) -> Any:
        if isinstance(site.result, t.DecimalType):
            return exact(a, b, site.result)
        if any(isinstance(d, (*r.DATETIME, *r.INTERVAL)) for d in site.types):
            return temporal.compute(site, a, b, plain, sign)
        return plain(a, b)

    return compute


def _float(a: Any) -> bool:
    return bool(pa.types.is_floating(a.type))


def _divide(a: Any, b: Any) -> Any:
    if _float(a):
        return pc.divide(a, b)
    decimals.check_divisor(a, b, "/ by zero")
    # 1 stands where the quotient is null anyway; Java: the smallest number divided by -1 is itself, Arrow
    # gives 0
    one = pa.scalar(1, b.type)
    minus, zero = pc.equal(b, pa.scalar(-1, b.type)), pc.equal(b, pa.scalar(0, b.type))
    special = pc.or_(minus, zero)
    if not _any(special):
        return pc.divide(a, b)
    found = pc.divide(a, pc.if_else(special, one, b))
    return pc.if_else(minus, pc.negate(a), found)


def _any(mask: Any) -> bool:
    return (mask.as_py() if isinstance(mask, pa.Scalar) else pc.any(mask).as_py()) is True


def _modulo(a: Any, b: Any) -> Any:
    return pc.subtract(a, pc.multiply(b, _divide(a, b)))


def _valid(operand: Any) -> Any:
    return pa.scalar(operand.is_valid) if isinstance(operand, pa.Scalar) else operand.is_valid()


scalar(
    "PLUS",
    numbers(r.decimal_plus, temporal.plus_rule),
    sql=(),
    total=True,
    columns=_kernel(pc.add, decimals.add),
    signatures=(
        "<NUMERIC> + <NUMERIC>",
        "<DATETIME_INTERVAL> + <DATETIME_INTERVAL>",
        "<DATETIME> + <DATETIME_INTERVAL>",
        "<DATETIME_INTERVAL> + <DATETIME>",
    ),
    doc="The sum; integers wrap around, and a DECIMAL that is too large is NULL.",
    example="1 + 2",
)
scalar(
    "MINUS",
    numbers(r.decimal_plus, temporal.minus_rule),
    sql=(),
    total=True,
    columns=_kernel(pc.subtract, decimals.subtract, sign=-1),
    signatures=(
        "<NUMERIC> - <NUMERIC>",
        "<DATETIME_INTERVAL> - <DATETIME_INTERVAL>",
        "<DATETIME> - <DATETIME_INTERVAL>",
    ),
    doc="The difference.",
    example="1 - 2",
)
scalar(
    "TIMES",
    numbers(r.decimal_times, temporal.times_rule),
    sql=(),
    total=True,
    columns=_kernel(pc.multiply, decimals.multiply),
    signatures=("<NUMERIC> * <NUMERIC>", "<INTERVAL> * <NUMERIC>"),
    doc="The product.",
    example="2 * 3",
)
scalar(
    "DIVIDE",
    numbers(r.decimal_divide),
    sql=(),
    columns=_kernel(_divide, decimals.divide),
    signatures=("<NUMERIC> / <NUMERIC>",),
    doc="The quotient; that of integers is cut off, and dividing them by zero fails.",
    example="7 / 2",
)


def _modulo_rule(call: CallTypes) -> Typing | None:
    """Of whole numbers, DECIMAL too, the result has the type of the divisor."""
    found = numbers(r.decimal_modulo)(call)
    if found is None or isinstance(found.result, r.APPROXIMATE):
        return None
    a, b = _known(call) or (found.result, found.result)
    if all(isinstance(d, r.INTEGER) or (isinstance(d, t.DecimalType) and not d.scale) for d in (a, b)):
        return Typing(b.with_nullability(a.nullable or b.nullable), found.arguments)
    return found


def _modulo_columns(site: CallSite, a: Any, b: Any) -> Any:
    if isinstance(site.result, t.DecimalType):
        return decimals.modulo(a, b, site.result)
    if pa.types.is_decimal(a.type):
        # smaller than the divisor, which is of the result's type
        found = decimals.modulo(a, b, t.DecimalType(precision=b.type.precision, scale=0))
        return found.cast(arrow_type(site.result))
    return _modulo(a, b)


scalar(
    "MOD",
    _modulo_rule,
    columns=_modulo_columns,
    signatures=("MOD(<EXACT_NUMERIC>, <EXACT_NUMERIC>)", "<EXACT_NUMERIC> % <EXACT_NUMERIC>"),
    doc="The remainder; it has the sign of the dividend.",
    example="MOD(-26, 5)",
)


def _negate(site: CallSite, a: Any) -> Any:
    return pc.negate(a)


scalar(
    "MINUS_PREFIX",
    takes(any_of(NUMBER, INTERVAL), result=first),
    sql=(),
    total=True,
    columns=_negate,
    signatures=("-<NUMERIC>", "-<DATETIME_INTERVAL>"),
    doc="The number with the other sign.",
    example="-(5)",
)
scalar(
    "PLUS_PREFIX",
    takes(any_of(NUMBER, INTERVAL), result=first),
    sql=(),
    total=True,
    columns=lambda site, a: a,
    signatures=("+ <NUMERIC>",),
    doc="The number itself.",
    example="+5",
)
