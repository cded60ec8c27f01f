"""JSON_VALUE, JSON_QUERY, JSON_EXISTS, IS JSON, quoting, and VARIANT from JSON.

Clauses come as pairs of symbols after the operands: its name (``RETURNING``, ``ON EMPTY`` ...), then its
value; a DEFAULT is an expression in the value's place.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from firesteel.sql import json_text as j, type_rules as r, types as t, variants
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.lifting import rows_of_all
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import (
    BOOLEAN,
    STRING,
    SYMBOL,
    TEXT,
    TRUTH,
    nullable,
    optional,
    strict,
    takes,
)
from firesteel.sql.json_paths import JsonPathError, PathNotFoundError, json_path
from firesteel.sql.values import array_of

Clauses = dict[str, Any]


def clauses(values: Sequence[Any], first: int = 2) -> Clauses:
    return dict(zip(values[first::2], values[first + 1 :: 2], strict=True))


def _with_clauses(
    result: Callable[[CallTypes, Clauses], t.DataType | None],
) -> Callable[[CallTypes], Typing | None]:
    """The rule of a function of a JSON text, a path and clauses."""

    def rule(call: CallTypes) -> Typing | None:
        types = call.types
        if len(types) < 2 or len(types) % 2:
            return None
        texts = [TEXT.accept(d) for d in types[:2]]
        made = result(call, clauses([call.literal(i) for i in range(len(types))]))
        if None in texts or made is None:
            return None
        arguments = [*(d for d in texts if d is not None), *types[2:]]
        for i in range(3, len(types), 2):
            if not isinstance(types[i], t.SymbolType):  # a DEFAULT
                arguments[i] = made.with_nullability(types[i].nullable)
        return Typing(made, tuple(arguments))

    return rule


def _read(text: str, path: str) -> tuple[Any, Exception | None]:
    try:
        return json_path(path).read(j.parse(text)), None
    except (j.JsonError, JsonPathError, PathNotFoundError) as error:
        return None, error


class _Event(Exception):
    """What ON EMPTY or ON ERROR is about."""

    def __init__(self, name: str, cause: Exception) -> None:
        super().__init__(name)
        self.name = name
        self.cause = cause


# ---- JSON_VALUE

_SCALARS: Final = (
    *r.CHARACTER,
    t.BooleanType,
    t.IntType,
    t.BigIntType,
    t.DoubleType,
    t.FloatType,
    t.TinyIntType,
    t.SmallIntType,
    t.DecimalType,
)


def _value_type(call: CallTypes, given: Clauses) -> t.DataType | None:
    wanted = given.get("RETURNING") or STRING
    return wanted.with_nullability(True) if isinstance(wanted, _SCALARS) else None


def _json_value(site: CallSite, text: str | None, path: str | None, *rest: Any) -> Any:
    if text is None or path is None:
        return None
    given = clauses(rest, 0)
    kinds = dict(zip(rest[::2], site.types[3::2], strict=True))
    try:
        return _typed(_scalar(text, path), site.result)
    except _Event as event:
        chosen = given.get(event.name, "NULL")
        if event.name in kinds and not isinstance(kinds[event.name], t.SymbolType):
            return chosen
        if chosen == "ERROR":
            raise event.cause from None
        return None


def _json_value_columns(site: CallSite, text: Any, path: Any, *rest: Any) -> pa.Array:
    slow = rows_of_all(_json_value)
    constant = isinstance(path, pa.Scalar) and path.is_valid and isinstance(text, pa.Array)
    plain = constant and json_path_or_none(path.as_py())
    if not plain or not isinstance(site.result, (t.VarCharType, t.IntType, t.BigIntType)):
        return slow(site, text, path, *rest)
    find, wanted = plain.find, str if isinstance(site.result, t.VarCharType) else int
    found: list[Any] = []
    others: list[int] = []
    decode = j.decode
    # without other clauses what is missing, and what is no scalar, is NULL
    quiet = not rest or (len(rest) == 2 and rest[0].as_py() == "RETURNING")
    for i, document in enumerate(text.to_pylist()):
        try:
            value = None if document is None else find(decode(document))
        except ValueError:
            value = None
        if type(value) is int and wanted is str:
            value = str(value)
        elif quiet and (value is None or type(value) in (dict, list)):
            value = None
        elif type(value) is not wanted and document is not None:
            others.append(i)
            value = None
        found.append(value)
    if others:
        part = text.take(pa.array(others))
        length, site.length = site.length, len(others)
        try:
            more = slow(site, part, path, *(_part(r, others) for r in rest))
        finally:
            site.length = length
        for i, value in zip(others, more.to_pylist(), strict=True):
            found[i] = value
    return array_of(found, site.result)


def _part(column: Any, rows: list[int]) -> Any:
    return column.take(pa.array(rows)) if isinstance(column, pa.Array) else column


def json_path_or_none(text: str) -> Any:
    """The path if it consists of names and places only."""
    try:
        found = json_path(text)
    except JsonPathError:
        return None
    return None if found.plain is None else found


def _scalar(text: str, path: str) -> Any:
    value, error = _read(text, path)
    if error is not None:
        raise _Event("ON ERROR", error)
    lax = not json_path(path).strict
    if lax and (value is None or not j.is_scalar(value)):
        raise _Event("ON EMPTY", ValueError("Empty result of JSON_VALUE function is not allowed"))
    if value is None or not j.is_scalar(value):
        cause = ValueError(
            f"Strict jsonpath mode requires scalar value, and the actual value is: '{j.text_of(value)}'"
        )
        raise _Event("ON ERROR", cause)
    return value


def _typed(value: Any, kind: t.DataType) -> Any:
    if isinstance(kind, r.CHARACTER):
        return value if isinstance(value, str) else j.text_of(value)
    boolean = isinstance(value, bool)
    if isinstance(kind, t.BooleanType) and boolean:
        return value
    if isinstance(kind, r.INTEGER) and isinstance(value, int) and not boolean:
        return value
    if (
        isinstance(kind, (*r.APPROXIMATE, t.DecimalType))
        and isinstance(value, (int, decimal.Decimal))
        and not boolean
    ):
        return float(value) if isinstance(kind, r.APPROXIMATE) else decimal.Decimal(value)
    raise ValueError(f"The JSON value {j.text_of(value)} is no {kind.text()}.")


_ON: Final = "[{NULL | ERROR | DEFAULT <ANY>} ON EMPTY] [{NULL | ERROR | DEFAULT <ANY>} ON ERROR]"
scalar(
    "JSON_VALUE",
    _with_clauses(_value_type),
    columns=_json_value_columns,
    signatures=(f"JSON_VALUE(<CHARACTER_STRING>, <PATH> [RETURNING <TYPE>] {_ON})",),
    doc="The scalar at a path of a JSON text.",
    example="JSON_VALUE('{\"a\": [1, 2]}', '$.a[1]' RETURNING INT)",
)


# ---- JSON_QUERY

_TEXTS: Final = t.ArrayType(element_type=STRING)
_EMPTY: Final[dict[str, list[Any] | dict[str, Any]]] = {"EMPTY ARRAY": [], "EMPTY OBJECT": {}}


def _query_type(call: CallTypes, given: Clauses) -> t.DataType | None:
    wanted = given.get("RETURNING") or STRING
    listed = isinstance(wanted, t.ArrayType) and isinstance(wanted.element_type, r.CHARACTER)
    if not listed and not isinstance(wanted, r.CHARACTER):
        return None
    if listed and "EMPTY OBJECT" in given.values():
        return None
    return wanted.with_nullability(True)


def _json_query(site: CallSite, text: str, path: str, *rest: Any) -> Any:
    given = clauses(rest, 0)
    try:
        found = _structure(text, path, given.get("WRAPPER", "WITHOUT"))
    except _Event as event:
        chosen = given.get(event.name, "NULL")
        if chosen == "ERROR":
            raise event.cause from None
        if chosen == "NULL":
            return None
        found = _EMPTY[chosen]
    if not isinstance(site.result, t.ArrayType):
        return j.text_of(found)
    if not isinstance(found, list):
        if given.get("ON ERROR") == "ERROR":
            raise ValueError(f"The JSON value {j.text_of(found)} is no array.")
        return [] if given.get("ON ERROR") == "EMPTY ARRAY" else None
    return [v if v is None or isinstance(v, str) else j.text_of(v) for v in found]


def _structure(text: str, path: str, wrapper: str) -> Any:
    value, error = _read(text, path)
    if error is not None:
        raise _Event("ON ERROR", error)
    if value is not None and (
        wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(value, list))
    ):
        value = [value]
    lax = not json_path(path).strict
    if value is None or (lax and j.is_scalar(value)):
        raise _Event("ON EMPTY", ValueError("Empty result of JSON_QUERY function is not allowed"))
    if j.is_scalar(value):
        cause = ValueError(
            "Strict jsonpath mode requires array or object value, and the actual value is: "
            f"'{j.text_of(value)}'"
        )
        raise _Event("ON ERROR", cause)
    return value


scalar(
    "JSON_QUERY",
    _with_clauses(_query_type),
    value=_json_query,
    signatures=(
        "JSON_QUERY(<CHARACTER_STRING>, <PATH> [RETURNING {STRING | ARRAY<STRING>}] "
        "[{WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL]} WRAPPER] "
        "[{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON {EMPTY | ERROR}]...)",
    ),
    doc="The array or object at a path of a JSON text.",
    example="JSON_QUERY('{\"a\": [1, 2]}', '$.a')",
)


# ---- JSON_EXISTS and IS JSON


def _json_exists(_: CallSite, text: str, path: str, *rest: Any) -> bool | None:
    value, error = _read(text, path)
    if error is None:
        return value is not None and (json_path(path).definite or bool(value))
    chosen = clauses(rest, 0).get("ON ERROR", "FALSE")
    if chosen == "ERROR":
        raise error
    return None if chosen == "UNKNOWN" else chosen == "TRUE"


scalar(
    "JSON_EXISTS",
    _with_clauses(lambda call, given: BOOLEAN),
    value=_json_exists,
    signatures=("JSON_EXISTS(<CHARACTER_STRING>, <PATH> [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",),
    doc="Whether there is something at a path of a JSON text.",
    example="JSON_EXISTS('{\"a\": 1}', '$.a')",
)

_KINDS: Final[dict[str, Callable[[Any], bool]]] = {
    "VALUE": lambda v: True,
    "SCALAR": j.is_scalar,
    "ARRAY": lambda v: isinstance(v, list),
    "OBJECT": lambda v: isinstance(v, dict),
}


def _is_json(_: CallSite, text: str | None, kind: str = "VALUE") -> bool:
    if text is None:
        return False
    try:
        return _KINDS[kind](j.parse(text))
    except j.JsonError:
        return False


scalar(
    "IS_JSON",
    takes(TEXT, optional(SYMBOL), result=BOOLEAN.not_null()),
    sql=("IS_JSON",),
    value=_is_json,
    takes_null=True,
    signatures=("<CHARACTER_STRING> IS [NOT] JSON [VALUE | SCALAR | ARRAY | OBJECT]",),
    doc="Whether a text is JSON, and of that kind.",
    example="'{\"a\": 1}' IS JSON OBJECT",
)


# ---- quoting

scalar(
    "JSON_QUOTE",
    takes(TEXT, result=strict(STRING)),
    value=lambda site, s: j.quoted(s),
    doc="The text as a JSON string of ASCII characters.",
    example="JSON_QUOTE('a\"b')",
)
scalar(
    "JSON_UNQUOTE",
    takes(TEXT, result=strict(STRING)),
    value=lambda site, s: j.unquoted(s),
    doc="The text of a JSON string; what is none stays as it is.",
    example="JSON_UNQUOTE('\"a\"')",
)


# ---- VARIANT


def _parse(_: CallSite, text: str, duplicates: bool = False) -> str:
    return variants.make(text, duplicates)


def _try_parse(_: CallSite, text: str, duplicates: bool = False) -> str | None:
    try:
        return variants.make(text, duplicates)
    except j.JsonError:
        return None


scalar(
    "PARSE_JSON",
    takes(TEXT, optional(TRUTH), result=strict(t.VariantType())),
    value=_parse,
    doc="The VARIANT of a JSON text; keys may be there twice if the second argument is TRUE.",
    example="JSON_STRING(PARSE_JSON('{\"a\": 1}'))",
)
scalar(
    "TRY_PARSE_JSON",
    takes(TEXT, optional(TRUTH), result=nullable(t.VariantType())),
    value=_try_parse,
    doc="The VARIANT of a JSON text; NULL: it is none.",
    example="TRY_PARSE_JSON('{') IS NULL",
)
