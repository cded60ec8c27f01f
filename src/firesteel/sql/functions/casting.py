"""CAST, TRY_CAST and the casts that are not written: all of them are ``cast_column``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from firesteel.sql.cast import cast_column
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing


def _rule(call: CallTypes) -> Typing | None:
    """``calls.cast`` makes these calls: the type that is cast to is that of the call."""
    return None


def _cast(attempt: bool) -> Any:
    def compute(site: CallSite, a: Any) -> Any:
        if isinstance(a, pa.Scalar):
            return cast_column(pa.repeat(a, 1), site.types[0], site.result, site.zone, attempt)[0]
        return cast_column(a, site.types[0], site.result, site.zone, attempt)

    return compute


# not deterministic for folding: TIMESTAMP_LTZ depends on the session's zone, which is known when it runs
scalar(
    "CAST",
    _rule,
    sql=(),
    columns=_cast(False),
    dynamic=True,
    signatures=("CAST(<ANY> AS <TYPE>)",),
    doc="The value as another type; an error where it is no such value.",
    example="CAST('12' AS INT)",
)
scalar(
    "TRY_CAST",
    _rule,
    sql=(),
    columns=_cast(True),
    dynamic=True,
    signatures=("TRY_CAST(<ANY> AS <TYPE>)",),
    doc="The value as another type; NULL where it is no such value.",
    example="TRY_CAST('x' AS INT)",
)
