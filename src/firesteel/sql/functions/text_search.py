"""Functions that search texts, take them to pieces, or test them. Positions count characters, from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import type_rules as r
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.lifting import list_elements
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import (
    AS_BIGINT,
    AS_INT,
    BOOLEAN,
    EXACT,
    INT,
    INTEGER,
    STRING,
    TEXT,
    TEXT_OR_BINARY,
    any_of,
    exactly,
    nullable,
    optional,
    strict,
    takes,
)
from firesteel.sql.functions.text import by_rows, constant

# ---- searching


def _position(_: CallSite, part: str, text: str) -> int:
    return text.find(part) + 1


scalar(
    "POSITION",
    takes(TEXT, TEXT, result=strict(INT)),
    value=_position,
    signatures=("POSITION(<CHARACTER_STRING> IN <CHARACTER_STRING>)",),
    doc="Where a text occurs first in another one; 0: nowhere.",
    example="POSITION('ab' IN 'xxab')",
)


def _locate(_: CallSite, part: str, text: str, start: int = 1) -> int:
    return text.find(part, max(start - 1, 0)) + 1


scalar(
    "LOCATE",
    takes(TEXT, TEXT, optional(AS_INT), result=strict(INT)),
    value=_locate,
    doc="Where a text occurs in another one, from a position on; 0: nowhere.",
    example="LOCATE('ab', 'xxabab', 4)",
)


def _instr(_: CallSite, text: str, part: str, start: int = 1, occurrence: int = 1) -> int:
    """From a negative start it is searched towards the front."""
    if start == 0 or occurrence < 1:
        return 0
    at = start - 2 if start > 0 else len(text) + start + 1
    for _n in range(occurrence):
        at = text.find(part, at + 1) if start > 0 else text.rfind(part, 0, at - 1 + len(part))
        if at < 0:
            return 0
    return at + 1


scalar(
    "INSTR",
    takes(TEXT, TEXT, optional(AS_INT), optional(AS_INT), result=strict(INT)),
    value=_instr,
    doc="Where a text occurs for the n-th time, from a position on or, negative, backwards.",
    example="INSTR('Corporate Floor', 'or', 3, 2)",
)


def _affix(kernel: Callable[..., Any], method: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def compute(site: CallSite, text: Any, part: Any) -> Any:
        if constant(part) and isinstance(text, pa.Array) and isinstance(site.types[0], r.CHARACTER):
            return kernel(text, part.as_py())
        return by_rows(site, lambda _, s, p: method(s, p), text, part)

    return compute


def _affix_rule(call: CallTypes) -> Typing | None:
    found = takes(TEXT_OR_BINARY, TEXT_OR_BINARY, result=strict(BOOLEAN))(call)
    if found is None:
        return None
    kinds = {isinstance(d, r.CHARACTER) for d in found.arguments}
    return found if len(kinds) == 1 else None


scalar(
    "STARTSWITH",
    _affix_rule,
    columns=_affix(pc.starts_with, lambda s, p: s.startswith(p)),
    signatures=(
        "STARTSWITH(<CHARACTER_STRING>, <CHARACTER_STRING>)",
        "STARTSWITH(<BINARY_STRING>, <BINARY_STRING>)",
    ),
    doc="Whether one begins with the other.",
    example="STARTSWITH('flink', 'fl')",
)
scalar(
    "ENDSWITH",
    _affix_rule,
    columns=_affix(pc.ends_with, lambda s, p: s.endswith(p)),
    signatures=(
        "ENDSWITH(<CHARACTER_STRING>, <CHARACTER_STRING>)",
        "ENDSWITH(<BINARY_STRING>, <BINARY_STRING>)",
    ),
    doc="Whether one ends with the other.",
    example="ENDSWITH('flink', 'nk')",
)


# ---- pieces and characters


def _split_index_columns(site: CallSite, text: Any, separator: Any, index: Any) -> Any:
    usual = isinstance(text, pa.Array) and constant(separator, index)
    if usual and isinstance(separator.as_py(), str) and separator.as_py() and index.as_py() >= 0:
        split = site.evaluation.once("split", text, separator.as_py(), pc.split_pattern)
        pieces = list_elements(split, index.as_py() + 1)
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), pieces)
    return by_rows(site, _split_index, text, separator, index)


def _split_index(_: CallSite, text: str, separator: str | int, index: int) -> str | None:
    if index < 0:
        return None
    if isinstance(separator, int):
        if not 1 <= separator <= 255:
            return None
        separator = chr(separator)
    parts = text.split(separator) if separator else text.split()
    return parts[index] if index < len(parts) and text else None


scalar(
    "SPLIT_INDEX",
    takes(TEXT, any_of(TEXT, exactly(INT)), AS_INT, result=nullable(STRING)),
    columns=_split_index_columns,
    doc="The n-th piece (from 0) between separators; NULL: there are fewer.",
    example="SPLIT_INDEX('a,b,c', ',', 1)",
)
scalar(
    "ASCII",
    takes(TEXT, result=strict(INT)),
    value=lambda site, s: (s.encode()[0] ^ 128) - 128 if s else 0,
    doc="The code of the first character.",
    example="ASCII('abc')",
)
scalar(
    "CHR",
    takes(any_of(INTEGER, AS_BIGINT), result=nullable(STRING)),
    value=lambda site, n: "" if n < 0 else chr(n & 255),
    doc="The character of a code, modulo 256.",
    example="CHR(65)",
)


def _elt_rule(call: CallTypes) -> Typing | None:
    index = call.literal(0)
    if len(call.types) < 2 or not isinstance(call.types[0], r.INTEGER) or (index is not None and index < 0):
        return None
    found = r.common_type(call.types[1:])
    if not isinstance(found, (*r.CHARACTER, *r.BINARY)):
        return None
    rest = tuple(found.with_nullability(d.nullable) for d in call.types[1:])
    return Typing(found.with_nullability(True), (call.types[0], *rest))


def _elt(_: CallSite, index: int | None, *values: Any) -> Any:
    return values[index - 1] if index is not None and 1 <= index <= len(values) else None


scalar(
    "ELT",
    _elt_rule,
    value=_elt,
    takes_null=True,
    signatures=(
        "ELT(<INTEGER_NUMERIC>, <CHARACTER_STRING>...)",
        "ELT(<INTEGER_NUMERIC>, <BINARY_STRING>...)",
    ),
    doc="The n-th of the arguments after the first.",
    example="ELT(2, 'a', 'b')",
)

_WHITE = " \t\n\r\f\v"


def _all(test: Callable[[str], bool]) -> Callable[..., bool]:
    return lambda site, text: text is not None and bool(text) and all(map(test, text))


def _is_decimal(_: CallSite, text: str | None) -> bool:
    from firesteel.sql.cast_from_text import _DECIMAL

    return text is not None and _DECIMAL.fullmatch(text) is not None


_NOT_NULL = BOOLEAN.not_null()
scalar(
    "IS_ALPHA",
    takes(TEXT, result=_NOT_NULL),
    value=_all(str.isalpha),
    takes_null=True,
    doc="Whether all characters are letters.",
    example="IS_ALPHA('abc')",
)
scalar(
    "IS_DIGIT",
    takes(TEXT, result=_NOT_NULL),
    value=_all(str.isdigit),
    takes_null=True,
    doc="Whether all characters are digits.",
    example="IS_DIGIT('123')",
)
scalar(
    "IS_DECIMAL",
    takes(any_of(TEXT, EXACT), result=_NOT_NULL),
    takes_null=True,
    value=lambda site, s: _is_decimal(site, s) if isinstance(s, str) else s is not None,
    doc="Whether a text is a decimal number.",
    example="IS_DECIMAL('11.44')",
)
