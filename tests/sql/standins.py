"""Types of functions that a part of the built-in ones may not have yet: the tests of the binder need no
values of them.

What the table of functions has is never replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from firesteel.sql import functions, types as t
from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition, FunctionKind, Typing
from firesteel.sql.types import DataType

__all__ = ["find"]

Result = Callable[[Sequence[DataType]], DataType]
_A, _S = FunctionKind.AGGREGATE, FunctionKind.SCALAR
_BIGINT = t.BigIntType(nullable=False)


def _same(types: Sequence[DataType]) -> DataType:
    return types[0]


def _sum(types: Sequence[DataType]) -> DataType:
    first = types[0]
    return t.DecimalType(precision=38, scale=first.scale) if isinstance(first, t.DecimalType) else first


def _lag(types: Sequence[DataType]) -> DataType:
    return types[0].with_nullability(True) if len(types) < 3 else types[0].with_nullability(types[2].nullable)


_RESULTS: dict[str, tuple[FunctionKind, Result]] = {
    "PROCTIME": (_S, lambda _: t.LocalZonedTimestampType(precision=3, attribute="proctime", nullable=False)),
    "NOW": (_S, lambda _: t.LocalZonedTimestampType(precision=3, nullable=False)),
    "CURRENT_TIMESTAMP": (_S, lambda _: t.LocalZonedTimestampType(precision=3, nullable=False)),
    "LOCALTIMESTAMP": (_S, lambda _: t.TimestampType(precision=3, nullable=False)),
    "CURRENT_DATE": (_S, lambda _: t.DateType(nullable=False)),
    "SUM": (_A, _sum),
    "AVG": (_A, lambda x: t.DecimalType(precision=38, scale=6) if isinstance(x[0], t.DecimalType) else x[0]),
    **dict.fromkeys(("MAX", "MIN", "FIRST_VALUE", "LAST_VALUE", "STDDEV_POP"), (_A, _same)),
    **{name: (_A, lambda _: _BIGINT) for name in ("COUNT", "ROW_NUMBER", "RANK", "DENSE_RANK")},
    "LAG": (_A, _lag),
    "LISTAGG": (_A, lambda _: t.VarCharType()),
    "COLLECT": (_A, lambda x: t.MultisetType(element_type=x[0], nullable=False)),
    "ARRAY_AGG": (_A, lambda x: t.ArrayType(element_type=x[0])),
    "JSON_OBJECTAGG": (_A, lambda _: t.VarCharType(length=2000, nullable=False)),
    "JSON_ARRAYAGG": (_A, lambda _: t.VarCharType(length=2000, nullable=False)),
}


@cache
def _standin(name: str) -> FunctionDefinition:
    kind, result = _RESULTS[name]
    return FUNCTIONS.register(
        FunctionDefinition(
            name=name,
            kind=kind,
            sql_names=(name,),
            rule=lambda call: Typing(result(call.types), tuple(call.types)),
            deterministic=name != "PROCTIME",
            dynamic=kind is _S,
            null_when_empty=name in _NULL_WHEN_EMPTY,
            aggregate=name if kind is _A else None,
        )
    )


_NULL_WHEN_EMPTY = frozenset(("SUM", "AVG", "MAX", "MIN", "FIRST_VALUE", "LAST_VALUE", "STDDEV_POP"))


def find(name: str) -> FunctionDefinition | None:
    """What SQL calls so."""
    known = functions.find(name)
    if known is None and name.upper() in _RESULTS:
        return _standin(name.upper())
    return known
