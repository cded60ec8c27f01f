"""JSON_OBJECT, JSON_ARRAY, JSON and JSON_STRING: SQL values to JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeGuard

from firesteel.sql import json_text as j, type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.expressions import Call, Expression, Literal
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import FUNCTIONS, CallTypes, Typing
from firesteel.sql.functions.rules import ANY, STRING, TEXT, strict, takes
from firesteel.sql.values import unit_of

# ---- values to JSON


def _timestamp(value: int, kind: t.DataType) -> str:
    """ISO 8601, with as few groups of three digits of the second as it needs."""
    import numpy as np

    from firesteel.sql.cast_to_text import timestamp_texts

    unit = unit_of(kind)
    text = str(timestamp_texts(np.array([value]), unit, 9)[0].as_py()).replace(" ", "T")
    while text.endswith("000"):
        text = text[:-3]
    return text.rstrip(".") + ("Z" if isinstance(kind, t.LocalZonedTimestampType) else "")


def _shown(value: Any, kind: t.DataType) -> str:
    """The text of a value of another type, as CAST gives it."""
    from firesteel.sql.cast_to_text import to_text
    from firesteel.sql.values import array_of

    return str(to_text(array_of([value], kind), kind, STRING, "UTC")[0].as_py())


def _map(value: Any, kind: Any) -> dict[str, Any]:
    return {
        k if isinstance(k, str) else _shown(k, kind.children[0]): to_json(v, kind.children[1])
        for k, v in value
    }


def _multiset(value: Any, kind: Any) -> dict[str, Any]:
    return {k if isinstance(k, str) else _shown(k, kind.element_type): n for k, n in value}


_TO_JSON: Final[dict[type[t.DataType], Callable[[Any, Any], Any]]] = {
    t.BinaryType: lambda v, d: base64.b64encode(v).decode("ascii"),
    t.VarBinaryType: lambda v, d: base64.b64encode(v).decode("ascii"),
    t.DateType: _shown,
    t.TimeType: _shown,
    t.TimestampType: _timestamp,
    t.LocalZonedTimestampType: _timestamp,
    t.YearMonthIntervalType: _shown,
    t.DayTimeIntervalType: _shown,
    t.ArrayType: lambda v, d: [to_json(x, d.element_type) for x in v],
    t.MapType: _map,
    t.MultisetType: _multiset,
    t.RowType: lambda v, d: {n: to_json(x, k) for n, x, k in zip(d.names, v, d.types, strict=True)},
    t.VariantType: lambda v, d: j.Raw(v),
}


def to_json(value: Any, kind: t.DataType) -> Any:
    """A physical value as what ``json_text.text_of`` writes."""
    convert = _TO_JSON.get(type(kind))
    return value if value is None or convert is None else convert(value, kind)


scalar(
    "JSON_STRING",
    takes(ANY, result=strict(STRING)),
    value=lambda site, v: j.text_of(to_json(v, site.types[0])),
    doc="A value as JSON.",
    example="JSON_STRING(ARRAY[1, 2])",
)


# ---- JSON_OBJECT and JSON_ARRAY

_ONLY_A_VALUE: Final = "JSON() stands inside of JSON_ARRAY() or as a VALUE of JSON_OBJECT() only."


def _raw_json(operand: Expression) -> bool:
    """Whether an operand is JSON already, and not a text that becomes a JSON string."""
    return isinstance(operand, Call) and operand.function in ("JSON", "JSON_OBJECT", "JSON_ARRAY")


def _split(operands: Sequence[Expression], default: str) -> tuple[list[Expression], str]:
    """The values, and the value of the clause ON NULL."""
    if len(operands) >= 2 and isinstance(operands[-2].type, t.SymbolType):
        clause = operands[-1]
        assert isinstance(clause, Literal)
        return list(operands[:-2]), str(clause.value)
    return list(operands), default


def _is_json(operand: Expression) -> TypeGuard[Call]:
    return isinstance(operand, Call) and operand.function == "JSON"


def _made(name: str, values: list[Expression], nulls: str) -> Expression:
    """The call; its first operand says what to do with NULLs, the second which values are JSON already."""
    from firesteel.sql.functions.calls import symbol

    raw = tuple(i for i, v in enumerate(values) if _raw_json(v))
    inner = [v.operands[0] if _is_json(v) else v for v in values]
    return Call(name, (symbol(nulls), symbol(raw), *inner), STRING.not_null())


def _object(*operands: Expression) -> Expression:
    from firesteel.sql.functions.calls import InvalidCallError, invalid

    values, nulls = _split(operands, "NULL")
    keys = values[::2]
    if len(values) % 2 or not all(isinstance(k.type, r.CHARACTER) for k in keys):
        raise invalid(FUNCTIONS.named("JSON_OBJECT"), values)
    if any(map(_is_json, keys)):
        raise InvalidCallError(_ONLY_A_VALUE, hint="the key is a text: write it without JSON()")
    return _made("JSON_OBJECT", values, nulls)


def _array(*operands: Expression) -> Expression:
    values, nulls = _split(operands, "ABSENT")
    return _made("JSON_ARRAY", values, nulls)


def _item(site: CallSite, place: int, value: Any, raw: tuple[int, ...]) -> Any:
    if value is None or place not in raw:
        return to_json(value, site.types[place + 2])
    if not value.strip():
        return None
    return j.Raw(j.text_of(j.parse(value)))


def _object_value(site: CallSite, nulls: str, raw: tuple[int, ...], *values: Any) -> str:
    found = {}
    for i in range(0, len(values), 2):
        item = _item(site, i + 1, values[i + 1], raw)
        if item is not None or nulls == "NULL":
            found[values[i]] = item
    return j.text_of(found)


def _array_value(site: CallSite, nulls: str, raw: tuple[int, ...], *values: Any) -> str:
    items = [_item(site, i, v, raw) for i, v in enumerate(values)]
    return j.text_of([v for v in items if v is not None or nulls == "NULL"])


def _never(call: CallTypes) -> Typing | None:
    return None


scalar(
    "JSON_OBJECT",
    _never,
    expand=_object,
    value=_object_value,
    takes_null=True,
    signatures=("JSON_OBJECT([[KEY] <CHARACTER_STRING> VALUE <ANY>]... [{NULL | ABSENT} ON NULL])",),
    doc="A JSON object of keys and values.",
    example="JSON_OBJECT('a' VALUE 1, 'b' VALUE 'x')",
)
scalar(
    "JSON_ARRAY",
    _never,
    expand=_array,
    value=_array_value,
    takes_null=True,
    signatures=("JSON_ARRAY([<ANY>]... [{NULL | ABSENT} ON NULL])",),
    doc="A JSON array of values.",
    example="JSON_ARRAY(1, 'x')",
)


def _json(_: CallSite, text: str) -> str:
    raise ValueError(_ONLY_A_VALUE)


scalar(
    "JSON",
    takes(TEXT, result=strict(STRING)),
    value=_json,
    doc="A text that is JSON already, as a value of JSON_OBJECT or JSON_ARRAY.",
    example="JSON_ARRAY(JSON('{\"a\": 1}'))",
)
