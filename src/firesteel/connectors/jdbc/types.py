"""Which declared types match which columns, and how values are converted."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from firesteel.connectors._column_families import datetime_to_instant, instant_to_datetime

Convert: TypeAlias = Callable[[Any], Any]

# SQLite has five kinds of values. Others are stored as text in ISO form, so that they sort correctly.
SQLITE_WRITE: Final[Mapping[str, Convert]] = MappingProxyType(
    {
        "boolean": int,
        "decimal": str,
        "date": datetime.date.isoformat,
        "time": datetime.time.isoformat,
        "timestamp": lambda value: value.isoformat(" "),
        "instant": lambda value: instant_to_datetime(value).replace(tzinfo=None).isoformat(" "),
    }
)
SQLITE_READ: Final[Mapping[str, Convert]] = MappingProxyType(
    {
        "boolean": bool,
        "decimal": lambda value: Decimal(str(value)),
        "number": float,
        "date": datetime.date.fromisoformat,
        "time": datetime.time.fromisoformat,
        "timestamp": datetime.datetime.fromisoformat,
        "instant": lambda value: datetime_to_instant(datetime.datetime.fromisoformat(value)),
    }
)
POSTGRES_WRITE: Final[Mapping[str, Convert]] = MappingProxyType({"instant": instant_to_datetime})
POSTGRES_READ: Final[Mapping[str, Convert]] = MappingProxyType(
    {"instant": datetime_to_instant, "number": float, "integer": int}
)

_INTEGERS: Final = frozenset({"smallint", "integer", "bigint"})
_DECIMALS: Final = frozenset({"numeric", "real", "double precision"})
_TEXTS: Final = frozenset({"text", "character varying", "character", "name", "bpchar", '"char"'})
_TIMESTAMPS: Final = frozenset({"timestamp without time zone", "timestamp with time zone"})
_ACCEPTED: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "integer": _INTEGERS | _DECIMALS | {"oid"},
        "number": _DECIMALS,
        "decimal": _DECIMALS,
        "boolean": frozenset({"boolean"}),
        "text": _TEXTS,
        "date": frozenset({"date"}) | _TIMESTAMPS,
        "time": frozenset({"time without time zone"}),
        "timestamp": _TIMESTAMPS,
        "instant": _TIMESTAMPS,
        "bytes": frozenset({"bytea"}),
    }
)
_KNOWN: Final = frozenset().union(*_ACCEPTED.values())


def fits_postgres(family_: str, column: str) -> bool:
    """Return true if values of the family fit a column or parameter of PostgreSQL's type ``column``."""
    base = column.partition("(")[0]
    if family_ == "array":
        return column.endswith("[]")
    if column.endswith("[]"):
        return False
    # PostgreSQL converts texts to its own types (uuid, json, enums, domains ...).
    return base in _ACCEPTED[family_] or (family_ == "text" and base not in _KNOWN)
