"""Rows of GROUP BY, all kinds of calls on them, and what a batch query gives."""

from __future__ import annotations

from hypothesis import strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall, Literal

LONG, TEXT, BOOL = t.BigIntType(), t.VarCharType(), t.BooleanType()
INPUT = t.RowType.of(("k", "v", "s", "b"), (TEXT, LONG, TEXT, BOOL))


def call(function, *arguments, of=LONG, **traits):
    return AggregateCall(function, arguments, of, **traits)


CALLS = (
    call("COUNT"),
    call("COUNT", 1),
    call("SUM", 1),
    call("AVG", 1),
    call("MIN", 1),
    call("MAX", 1),
    call("MAX", 2, of=TEXT),
    call("COUNT", 2, distinct=True),
    call("COUNT", 2, distinct=True, filter=3),
    call("SUM", 1, filter=3),
    call("SUM", 1, distinct=True),
    call("LISTAGG", 2, of=TEXT, literals=(Literal("|", TEXT),)),
)
OUTPUT = t.RowType.of(("k", *(f"c{i}" for i in range(len(CALLS)))), (TEXT, *(c.type for c in CALLS)))

ROWS = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.none() | st.integers(-3, 3),
    st.none() | st.sampled_from(["x", "y", "z"]),
    st.none() | st.booleans(),
)


def naive(rows):
    """What a batch query gives."""
    out = {}
    for key in {r[0] for r in rows}:
        mine = [r for r in rows if r[0] == key]
        values = [r[1] for r in mine if r[1] is not None]
        texts = [r[2] for r in mine if r[2] is not None]
        filtered = [r for r in mine if r[3]]
        some = [r[1] for r in filtered if r[1] is not None]
        out[key] = (
            len(mine),
            len(values),
            sum(values) if values else None,
            int(sum(values) / len(values)) if values else None,
            min(values, default=None),
            max(values, default=None),
            max(texts, default=None),
            len(set(texts)),
            len({r[2] for r in filtered if r[2] is not None}),
            sum(some) if some else None,
            sum(set(values)) if values else None,
            sorted(texts) or None,
        )
    return out
