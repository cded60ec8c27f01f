"""Functions of text: parts of it, case, padding, searching. Positions count characters, from 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.rules import (
    AS_INT,
    INT,
    STRING,
    SYMBOL,
    TEXT,
    any_nullable,
    first,
    many,
    nullable,
    optional,
    strict,
    takes,
    varying,
)


def constant(*columns: Any) -> bool:
    """Whether these are the same in all rows, and not null."""
    return all(isinstance(column, pa.Scalar) and column.is_valid for column in columns)


def _plain(kernel: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda site, a: kernel(a)


# ---- case and length


def _upper(_: CallSite, text: Any) -> Any:
    if isinstance(text, pa.Array) and pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return pc.ascii_upper(text)
    return pc.if_else(pc.string_is_ascii(text), pc.ascii_upper(text), _upper_unicode(text))


def _upper_unicode(text: Any) -> Any:
    """Java's upper case may have more characters: that of a sharp s has two."""
    if isinstance(text, pa.Scalar):
        return pa.scalar(None if text.as_py() is None else text.as_py().upper(), pa.string())
    return pa.array([None if x is None else x.upper() for x in text.to_pylist()], pa.string())


scalar(
    "UPPER",
    takes(TEXT, result=first),
    columns=_upper,
    total=True,
    doc="The text in upper case.",
    example="UPPER('Flink')",
)
scalar(
    "LOWER",
    takes(TEXT, result=first),
    columns=_plain(pc.utf8_lower),
    total=True,
    doc="The text in lower case.",
    example="LOWER('Flink')",
)
scalar(
    "CHAR_LENGTH",
    takes(TEXT, result=strict(INT)),
    sql=("CHAR_LENGTH", "CHARACTER_LENGTH"),
    total=True,
    columns=_plain(pc.utf8_length),
    doc="How many characters a text has.",
    example="CHAR_LENGTH('Flink')",
)
scalar(
    "REVERSE",
    takes(TEXT, result=nullable(STRING)),
    columns=_plain(pc.utf8_reverse),
    total=True,
    doc="The characters from the last to the first.",
    example="REVERSE('abc')",
)


def _initcap(_: CallSite, text: str) -> str:
    found, inside = [], False
    for character in text:
        found.append(character.lower() if inside else character.upper())
        inside = character.isalnum()
    return "".join(found)


scalar(
    "INITCAP",
    takes(TEXT, result=first),
    value=_initcap,
    doc="Each word with a capital, the rest in lower case.",
    example="INITCAP('fLinK sql')",
)


# ---- parts


def substring(text: str, position: int, length: int) -> str | None:
    """From a position (from the end where it is negative), at most *length* characters."""
    if length < 0:
        return None
    count = len(text)
    start = position - 1 if position > 0 else count + position if position < 0 else 0
    return text[start : start + length] if 0 <= start < count else ""


def _substring(_: CallSite, text: str, position: int, length: int = t.MAX_LENGTH) -> str | None:
    return substring(text, position, length)


def _substring_columns(site: CallSite, text: Any, position: Any, length: Any = None) -> Any:
    bound = pa.scalar(t.MAX_LENGTH, pa.int32()) if length is None else length
    if constant(position, bound) and isinstance(text, pa.Array):
        start, size = position.as_py(), bound.as_py()
        if size < 0:
            return pa.nulls(len(text), pa.string())
        if start >= 0:
            start = max(start - 1, 0)
            return pc.utf8_slice_codeunits(text, start, min(start + size, t.MAX_LENGTH))
    return by_rows(site, _substring, text, position, *(() if length is None else (length,)))


def by_rows(site: CallSite, value: Callable[..., Any], *columns: Any) -> pa.Array:
    from firesteel.sql.functions.lifting import rows_of

    return rows_of(value, site, columns)


scalar(
    "SUBSTRING",
    takes(TEXT, AS_INT, optional(AS_INT), result=lambda d: varying(d).with_nullability(True)),
    sql=("SUBSTRING", "SUBSTR"),
    columns=_substring_columns,
    doc="The part that begins at a position, counted from 1 or, negative, from the end.",
    example="SUBSTRING('hello world', 7, 5)",
)


def _left(site: CallSite, text: Any, length: Any) -> Any:
    if constant(length):
        return pc.utf8_slice_codeunits(text, 0, max(length.as_py(), 0))
    return by_rows(site, lambda _, s, n: s[: max(n, 0)], text, length)


def _right(_: CallSite, text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


scalar(
    "LEFT",
    takes(TEXT, AS_INT, result=lambda d: varying(d).with_nullability(True)),
    columns=_left,
    doc="The first characters.",
    example="`LEFT`('hello', 2)",
)
scalar(
    "RIGHT",
    takes(TEXT, AS_INT, result=lambda d: varying(d).with_nullability(True)),
    value=_right,
    doc="The last characters.",
    example="`RIGHT`('hello', 2)",
)

_TRIMS: dict[str, tuple[Callable[..., Any], Callable[[str, str], str]]] = {
    "BOTH": (pc.utf8_trim, str.strip),
    "LEADING": (pc.utf8_ltrim, str.lstrip),
    "TRAILING": (pc.utf8_rtrim, str.rstrip),
}


def _trimmed(site: CallSite, side: str, text: Any, characters: Any) -> Any:
    kernel, method = _TRIMS[side]
    if constant(characters) and isinstance(text, pa.Array):
        return kernel(text, characters.as_py()) if characters.as_py() else text
    return by_rows(site, lambda _, s, c: method(s, c) if c else s, text, characters)


_BLANK = pa.scalar(" ", pa.string())


def _trim_function(side: str) -> Callable[..., Any]:
    return lambda site, text, characters=_BLANK: _trimmed(site, side, text, characters)


def _trim_columns(site: CallSite, side: Any, characters: Any, text: Any) -> Any:
    inner = CallSite((site.types[2], site.types[1]), site.result, site.text)
    inner.length, inner.evaluation = site.length, site.evaluation
    return _trimmed(inner, side.as_py(), text, characters)


scalar(
    "TRIM",
    takes(SYMBOL, TEXT, TEXT, result=lambda d: varying((d[2], d[1]))),
    columns=_trim_columns,
    signatures=("TRIM([BOTH | LEADING | TRAILING] [<CHARACTER_STRING>] FROM <CHARACTER_STRING>)",),
    doc="The text without certain characters (blanks) at its ends.",
    example="TRIM(BOTH 'x' FROM 'xxabxx')",
)
scalar(
    "LTRIM",
    takes(TEXT, optional(TEXT), result=varying),
    columns=_trim_function("LEADING"),
    doc="The text without certain characters (blanks) at its start.",
    example="LTRIM('  ab')",
)
scalar(
    "RTRIM",
    takes(TEXT, optional(TEXT), result=varying),
    columns=_trim_function("TRAILING"),
    doc="The text without certain characters (blanks) at its end.",
    example="RTRIM('ab  ')",
)
scalar(
    "BTRIM",
    takes(TEXT, optional(TEXT), result=strict(STRING)),
    columns=_trim_function("BOTH"),
    doc="The text without certain characters (blanks) at both ends.",
    example="BTRIM('  ab  ')",
)


# ---- joining and repeating


def _concat_columns(site: CallSite, *columns: Any) -> Any:
    return pc.binary_join_element_wise(*columns, "")


def _concat_result(types: Any) -> t.DataType:
    """CHAR and CHAR are CHAR of both lengths, else VARCHAR."""
    total = min(sum(d.length for d in types), t.MAX_LENGTH)
    null = any_nullable(types)
    if all(isinstance(d, t.CharType) for d in types):
        return t.CharType(length=total, nullable=null)
    return t.VarCharType(length=total, nullable=null)


scalar(
    "CONCAT_OPERATOR",
    takes(TEXT, TEXT, result=_concat_result),
    sql=(),
    columns=_concat_columns,
    total=True,
    signatures=("<STRING> || <STRING>",),
    doc="Two texts as one.",
    example="'a' || 'bc'",
)
scalar(
    "CONCAT",
    takes(TEXT, many(TEXT), result=strict(STRING)),
    columns=_concat_columns,
    total=True,
    doc="All texts as one; NULL if one of them is.",
    example="CONCAT('a', 'b', 'c')",
)


def _concat_ws(_: CallSite, separator: str | None, *texts: str | None) -> str | None:
    return None if separator is None else separator.join(x for x in texts if x is not None)


scalar(
    "CONCAT_WS",
    takes(TEXT, many(TEXT), result=strict(STRING)),
    value=_concat_ws,
    takes_null=True,
    doc="The texts that are not NULL, with a separator between them.",
    example="CONCAT_WS('~', 'a', 'b')",
)


def _repeat(_: CallSite, text: str, count: int) -> str:
    return text * max(count, 0)


scalar(
    "REPEAT",
    takes(TEXT, AS_INT, result=strict(STRING)),
    value=_repeat,
    doc="The text that many times.",
    example="REPEAT('ab', 3)",
)


def _replace(site: CallSite, text: Any, old: Any, new: Any) -> Any:
    if constant(old, new) and isinstance(text, pa.Array) and old.as_py():
        return pc.replace_substring(text, pattern=old.as_py(), replacement=new.as_py())
    return by_rows(site, lambda _, s, a, b: s.replace(a, b), text, old, new)


scalar(
    "REPLACE",
    takes(TEXT, TEXT, TEXT, result=strict(STRING)),
    columns=_replace,
    doc="The text with all occurrences of one text replaced by another one.",
    example="REPLACE('hello world', 'world', 'flink')",
)


def _pad(left: bool) -> Callable[..., str | None]:
    def value(_: CallSite, text: str, length: int, pad: str) -> str | None:
        if length < 0 or not pad:
            return None
        missing = length - len(text)
        if missing <= 0:
            return text[:length]
        filling = (pad * (missing // len(pad) + 1))[:missing]
        return filling + text if left else text + filling

    return value


scalar(
    "LPAD",
    takes(TEXT, AS_INT, TEXT, result=strict(STRING)),
    value=_pad(True),
    doc="The text, filled or cut to a length; it is filled from the left.",
    example="LPAD('hi', 5, '??')",
)
scalar(
    "RPAD",
    takes(TEXT, AS_INT, TEXT, result=strict(STRING)),
    value=_pad(False),
    doc="The text, filled or cut to a length; it is filled from the right.",
    example="RPAD('hi', 5, '??')",
)


def _overlay(_: CallSite, text: str, new: str, start: int, length: int | None = None) -> str:
    if start <= 0 or start > len(text):
        return text
    size = len(new) if length is None else length
    rest = text[start - 1 + size :] if size > 0 and start + size <= len(text) else ""
    return text[: start - 1] + new + rest


def _overlay_result(types: Any) -> t.DataType:
    total = min(types[0].length + types[1].length, t.MAX_LENGTH)
    return t.VarCharType(length=total, nullable=any_nullable(types))


scalar(
    "OVERLAY",
    takes(TEXT, TEXT, AS_INT, optional(AS_INT), result=_overlay_result),
    value=_overlay,
    signatures=("OVERLAY(<CHARACTER_STRING> PLACING <CHARACTER_STRING> FROM <INT> [FOR <INT>])",),
    doc="The text with a part replaced.",
    example="OVERLAY('This is old' PLACING 'new' FROM 9 FOR 3)",
)
scalar(
    "TRANSLATE",
    takes(TEXT, TEXT, TEXT, result=lambda d: STRING.with_nullability(d[0].nullable)),
    takes_null=True,
    value=lambda site, s, a, b: None if s is None else _translate(s, a, b),
    doc="The text with characters exchanged, or left out where there is none for them.",
    example="TRANSLATE('www.apache.org', 'abc', '123')",
)


def _translate(text: str, old: str | None, new: str | None) -> str:
    if not old:
        return text
    table: dict[int, str | None] = {}
    for i, character in enumerate(old):
        table.setdefault(ord(character), new[i] if new and i < len(new) else None)
    return text.translate(table)
