"""The current time, time attributes, random numbers, and facts of the session."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import calendars as c, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import (
    ANY,
    AS_INT,
    DOUBLE,
    INT,
    STRING,
    TRUTH,
    nullable,
    optional,
    strict,
    takes,
)

_LTZ: Final = t.LocalZonedTimestampType(precision=3, nullable=False)


def _now(site: CallSite) -> pa.Array:
    return c.temporal(site.evaluation.now(), site.result, length=site.length)


def _local(site: CallSite) -> int:
    return int(c.to_local(np.array([site.evaluation.now()]), 1000, site.zone)[0])


def _local_timestamp(site: CallSite) -> pa.Array:
    return c.temporal(_local(site), site.result, length=site.length)


def _date(site: CallSite) -> pa.Array:
    return c.temporal(_local(site) // c.DAY_MS, site.result, length=site.length)


def _time(site: CallSite) -> pa.Array:
    return c.temporal(_local(site) % c.DAY_MS // 1000 * 1000, site.result, length=site.length)


for _name, _sql, _type, _columns, _doc in (
    ("CURRENT_TIMESTAMP", ("CURRENT_TIMESTAMP", "NOW"), _LTZ, _now, "The current time."),
    ("CURRENT_DATE", ("CURRENT_DATE",), t.DateType(nullable=False), _date, "The current date."),
    ("CURRENT_TIME", ("CURRENT_TIME",), t.TimeType(nullable=False), _time, "The current time of day."),
    ("LOCALTIME", ("LOCALTIME",), t.TimeType(nullable=False), _time, "The current time of day."),
    (
        "LOCALTIMESTAMP",
        ("LOCALTIMESTAMP",),
        t.TimestampType(precision=3, nullable=False),
        _local_timestamp,
        "The current time as a timestamp without a zone.",
    ),
):
    scalar(
        _name,
        takes(result=_type),
        sql=_sql,
        columns=_columns,
        deterministic=False,
        dynamic=True,
        doc=f"{_doc} It is that of each batch of rows when streaming, and one for the query in batch mode.",
        example=_name,
    )


def _row_time(site: CallSite) -> pa.Array:
    return c.temporal(site.evaluation.clock(), site.result, length=site.length)


scalar(
    "CURRENT_ROW_TIMESTAMP",
    takes(result=_LTZ),
    columns=_row_time,
    deterministic=False,
    doc="The current time, in batch mode of each row too.",
    example="CURRENT_ROW_TIMESTAMP()",
)
scalar(
    "PROCTIME",
    takes(result=t.LocalZonedTimestampType(precision=3, nullable=False, attribute=t.TimeAttribute.PROCTIME)),
    columns=_row_time,
    deterministic=False,
    doc="The processing-time attribute.",
    example="PROCTIME()",
)


# ---- watermarks


def _watermark_rule(call: CallTypes) -> Typing | None:
    kinds = (t.TimestampType, t.LocalZonedTimestampType)
    if len(call.types) != 1 or not isinstance(call.types[0], kinds):
        return None
    kind = call.types[0]
    if kind.attribute != t.TimeAttribute.ROWTIME:
        return None
    return Typing(type(kind)(precision=3), tuple(call.types))


def _current_watermark(site: CallSite, _: Any) -> pa.Array:
    watermark = site.evaluation.watermark
    if watermark is None:
        return pa.nulls(
            site.length, pa.timestamp("ms", None if isinstance(site.result, t.TimestampType) else "UTC")
        )
    return c.temporal(watermark, site.result, length=site.length)


scalar(
    "CURRENT_WATERMARK",
    _watermark_rule,
    columns=_current_watermark,
    deterministic=False,
    signatures=("CURRENT_WATERMARK(<TIMESTAMP *ROWTIME*>)", "CURRENT_WATERMARK(<TIMESTAMP_LTZ *ROWTIME*>)"),
    doc="The current watermark of a rowtime; NULL: there is none yet.",
)


def _source_watermark(site: CallSite) -> Any:
    raise ValueError(
        "SOURCE_WATERMARK() only marks a watermark strategy and has no value of its own. "
        "It can only be used as a single expression of a watermark strategy in table DDL."
    )


scalar(
    "SOURCE_WATERMARK",
    takes(result=t.LocalZonedTimestampType(precision=3)),
    columns=_source_watermark,
    deterministic=False,
    doc="In WATERMARK FOR: the source gives the watermarks.",
)


# ---- random values


class _JavaRandom:
    """``java.util.Random``."""

    def __init__(self, seed: int) -> None:
        self.seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def bits(self, count: int) -> int:
        self.seed = (self.seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self.seed >> (48 - count)

    def double(self) -> float:
        return ((self.bits(26) << 27) + self.bits(27)) * 2.0**-53

    def integer(self, bound: int) -> int:
        if bound <= 0:
            raise ValueError("bound must be positive")
        if bound & (bound - 1) == 0:
            return bound * self.bits(31) >> 31
        while True:
            found = self.bits(31)
            if found - found % bound + (bound - 1) < 1 << 31:
                return found % bound


def _generator(site: CallSite) -> Any:
    found = site.state.get("random")
    if found is None:
        found = site.state["random"] = np.random.default_rng(site.evaluation.random)
    return found


def _seeded(site: CallSite, seed: Any) -> _JavaRandom:
    found = site.state.get("seeded")
    if found is None:
        constant = seed.as_py() if isinstance(seed, pa.Scalar) else seed[0].as_py()
        found = site.state["seeded"] = _JavaRandom(int(constant or 0))
    return found


def _rand(site: CallSite, seed: Any = None) -> pa.Array:
    if seed is None:
        return pa.array(_generator(site).random(site.length))
    random = _seeded(site, seed)
    return pa.array([None if s is None else random.double() for s in _each(site, seed)], pa.float64())


def _each(site: CallSite, column: Any) -> list[Any]:
    return [column.as_py()] * site.length if isinstance(column, pa.Scalar) else column.to_pylist()


def _rand_integer(site: CallSite, *arguments: Any) -> pa.Array:
    bounds = _each(site, arguments[-1])
    if len(arguments) == 1:
        random = _generator(site)
        return pa.array([None if b is None else int(random.integers(b)) for b in bounds], pa.int32())
    seeded = _seeded(site, arguments[0])
    both = zip(_each(site, arguments[0]), bounds, strict=True)
    return pa.array([None if s is None or b is None else seeded.integer(b) for s, b in both], pa.int32())


scalar(
    "RAND",
    takes(optional(AS_INT), result=strict(DOUBLE)),
    columns=_rand,
    deterministic=False,
    doc="A random number from 0 to below 1, of a sequence with a seed or of any.",
    example="RAND(42)",
)
scalar(
    "RAND_INTEGER",
    takes(AS_INT, optional(AS_INT), result=strict(INT)),
    columns=_rand_integer,
    deterministic=False,
    doc="A random integer from 0 to below a bound; with two arguments the first is a seed.",
    example="RAND_INTEGER(42, 100)",
)


def _uuid(site: CallSite) -> pa.Array:
    data = _generator(site).bytes(16 * site.length)
    made = [str(uuid.UUID(bytes=data[i : i + 16], version=4)) for i in range(0, len(data), 16)]
    return pa.array(made, pa.string())


scalar(
    "UUID",
    takes(result=t.CharType(length=36, nullable=False)),
    columns=_uuid,
    deterministic=False,
    doc="A random UUID of version 4.",
    example="UUID()",
)


# ---- of types and the session


def _type_of(site: CallSite, _: Any, serializable: bool = False) -> str:
    shown = str(site.types[0])
    if serializable:
        shown = re.sub(r"\b(STRING|BYTES)\b", lambda found: _LONG_NAMES[found[0]], shown)
    return shown


_LONG_NAMES: Final = {"STRING": f"VARCHAR({t.MAX_LENGTH})", "BYTES": f"VARBINARY({t.MAX_LENGTH})"}


def _type_of_rule(call: CallTypes) -> Typing | None:
    """What is behind the expression says how the type is written, so it has to be a literal."""
    if len(call.types) == 2 and not isinstance(call.literal(1), bool):
        return None
    return takes(ANY, optional(TRUTH), result=nullable(STRING))(call)


scalar(
    "TYPEOF",
    _type_of_rule,
    signatures=("TYPEOF(<ANY>)", "TYPEOF(<ANY>, <BOOLEAN LITERAL>)"),
    value=_type_of,
    takes_null=True,
    doc="The type of an expression.",
    example="TYPEOF(1 + 2)",
)


def _attribute(name: str) -> Callable[[CallSite], str]:
    return lambda site: site.evaluation.attributes.get(name, "")


scalar(
    "CURRENT_DATABASE",
    takes(result=STRING.not_null()),
    value=_attribute("current_database"),
    deterministic=False,
    dynamic=True,
    doc="The current database.",
    example="CURRENT_DATABASE()",
)
