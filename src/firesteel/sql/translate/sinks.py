"""Sinks: what is done to rows before the target takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from firesteel.program.operators import OperatorSpec
from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators import specs
from firesteel.sql.translate.exchanges import by_keys

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["sink"]

_NESTED: Final[Mapping[str, Literal["ignore", "rows", "collections"]]] = {
    "IGNORE": "ignore",
    "ROWS": "rows",
    "ROWS_AND_COLLECTIONS": "collections",
}
_LENGTH: Final[Mapping[str, Literal["ignore", "trim_pad", "error"]]] = {
    "IGNORE": "ignore",
    "TRIM_PAD": "trim_pad",
    "ERROR": "error",
}


def sink(run: Translator, node: p.Sink) -> Transformation:
    """The rows as the sink takes them; what stands behind them is for the target to add."""
    made = run.translate(node.input)
    row = node.input.row
    enforcer = _enforcer(node)
    if node.materialize:
        keys = node.primary_key
        spec: OperatorSpec = specs.SinkUpsertMaterialize(
            input=row, keys=keys, upsert_key=node.input_key or None, ttl_ms=node.ttl_ms
        )
        made = run.one(
            node, spec, keys=keys, row=row, source=by_keys(made, keys, row), name="SinkMaterializer"
        )
    elif (
        node.target.update == p.AFTER
        and node.input.update == p.BEFORE_AND_AFTER
        and not getattr(node.target.writer, "deletes_old_rows", False)
    ):
        drop = specs.DropUpdateBefore(input=row)
        made = run.one(node, drop, row=row, source=made, name="DropUpdateBefore")
    if enforcer is not None:
        made = run.one(node, enforcer, row=node.row, source=made, name="ConstraintEnforcer")
    return made


def _enforcer(node: p.Sink) -> specs.ConstraintEnforcer | None:
    if not node.target.enforce:
        return None
    row = node.row
    nested = _NESTED[node.nested]
    not_null = tuple(i for i, data_type in enumerate(row.types) if not data_type.nullable)
    inside = nested != "ignore" and any(not x.nullable for d in row.types for x in list(d.walk())[1:])
    length = _LENGTH[node.type_length]
    if not not_null and not inside and length == "ignore":
        return None
    return specs.ConstraintEnforcer(
        input=row,
        table=node.target.name,
        not_null=not_null,
        null="drop" if node.not_null == "DROP" else "error",
        length=length,
        nested=nested,
    )
