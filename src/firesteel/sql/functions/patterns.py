"""LIKE, SIMILAR TO and the functions of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.lifting import rows_of
from firesteel.sql.functions.rules import (
    AS_INT,
    BOOLEAN,
    INT,
    STRING,
    TEXT,
    nullable,
    optional,
    strict,
    takes,
)
from firesteel.sql.java_regex import compile_java, for_arrow, group_for_arrow

# ---- LIKE


@lru_cache(maxsize=1024)
def _like_parts(pattern: str, escape: str | None) -> tuple[str | None, ...]:
    """Texts between wildcards: ``None`` is %, '' is _.

    :raises ValueError: the escape character is none, or nothing follows it that it can escape.
    """
    if escape is not None and (len(escape) > 1 or escape == "\0"):
        raise ValueError(f"Invalid escape character '{escape}'")
    parts: list[str | None] = []
    text = ""
    i = 0
    while i < len(pattern):
        character = pattern[i]
        if escape and character == escape:
            following = pattern[i + 1 : i + 2]
            if not following or following not in ("%", "_", escape):
                raise ValueError(f"Invalid escape sequence '{pattern}', {i}")
            text += following
            i += 2
            continue
        if character in "%_":
            if text:
                parts.append(text)
                text = ""
            parts.append(None if character == "%" else "")
        else:
            text += character
        i += 1
    return (*parts, text) if text else tuple(parts)


@lru_cache(maxsize=1024)
def _like_regex(pattern: str, escape: str | None) -> re.Pattern[str]:
    pieces = (".*" if p is None else "." if p == "" else re.escape(p) for p in _like_parts(pattern, escape))
    return re.compile("".join(pieces), re.DOTALL)


def _like_columns(site: CallSite, text: Any, pattern: Any, escape: Any = None) -> Any:
    constant = isinstance(pattern, pa.Scalar) and (escape is None or isinstance(escape, pa.Scalar))
    if not constant or not isinstance(text, pa.Array):
        return rows_of(_like, site, (text, pattern, *(() if escape is None else (escape,))))
    if not pattern.is_valid or (escape is not None and not escape.is_valid):
        return pa.nulls(len(text), pa.bool_())
    parts = _like_parts(pattern.as_py(), None if escape is None else escape.as_py())
    simple = _simple_like(text, parts)
    if simple is not None:
        return simple
    shown = "(?s)^" + "".join(".*" if p is None else "." if p == "" else re.escape(p) for p in parts) + r"\z"
    return pc.match_substring_regex(text, shown)


def _simple_like(text: pa.Array, parts: tuple[str | None, ...]) -> pa.Array | None:
    """Equality, and a text at the start, at the end or anywhere; None: it is more than that."""
    if not parts:
        return pc.equal(text, "")
    match parts:
        case (str(word),) if word:
            return pc.equal(text, word)
        case (str(word), None) if word:
            return pc.starts_with(text, word)
        case (None, str(word)) if word:
            return pc.ends_with(text, word)
        case (None, str(word), None) if word:
            return pc.match_substring(text, word)
    if all(p is None for p in parts):
        return (
            pc.is_valid(text)
            if not text.null_count
            else pc.if_else(text.is_valid(), True, pa.scalar(None, pa.bool_()))
        )
    return None


def _like(_: CallSite, text: str, pattern: str, escape: str | None = None) -> bool:
    return _like_regex(pattern, escape).fullmatch(text) is not None


scalar(
    "LIKE",
    takes(TEXT, TEXT, optional(TEXT), result=strict(BOOLEAN)),
    sql=(),
    columns=_like_columns,
    signatures=("<CHARACTER_STRING> LIKE <CHARACTER_STRING> [ESCAPE <CHARACTER_STRING>]",),
    doc="Whether a text has a form in which % stands for any text and _ for any character.",
    example="'flink' LIKE 'fl%'",
)


@lru_cache(maxsize=1024)
def _similar_regex(pattern: str, escape: str | None) -> re.Pattern[str]:
    if escape is not None and len(escape) != 1:
        raise ValueError(f"Invalid escape character '{escape}'")
    pieces: list[str] = []
    characters = iter(pattern)
    inside = False
    for character in characters:
        if escape is not None and character == escape:
            pieces.append(re.escape(next(characters, "")))
        elif inside:
            inside = character != "]"
            pieces.append(character)
        elif character == "[":
            inside = True
            pieces.append(character)
        else:
            pieces.append({"%": "(?s:.*)", "_": "(?s:.)", "\\": r"\\"}.get(character, character))
    made = "".join(pieces)
    for name, shown in (
        ("ALPHA", "a-zA-Z"),
        ("DIGIT", "0-9"),
        ("ALNUM", "a-zA-Z0-9"),
        ("UPPER", "A-Z"),
        ("LOWER", "a-z"),
        ("SPACE", " "),
        ("WHITESPACE", r"\s"),
    ):
        made = made.replace(f"[:{name}:]", shown).replace(f"[:{name.lower()}:]", shown)
    try:
        return re.compile(made)
    except re.error as error:
        raise ValueError(f"Invalid regular expression '{pattern}': {error}") from error


def _similar(_: CallSite, text: str, pattern: str, escape: str | None = None) -> bool:
    return _similar_regex(pattern, escape).fullmatch(text) is not None


scalar(
    "SIMILAR",
    takes(TEXT, TEXT, optional(TEXT), result=strict(BOOLEAN)),
    sql=(),
    value=_similar,
    signatures=("<CHARACTER_STRING> SIMILAR TO <CHARACTER_STRING> [ESCAPE <CHARACTER_STRING>]",),
    doc="Whether a text matches a regular expression of SQL.",
    example="'flink' SIMILAR TO '(fl|sp)%'",
)


# ---- regular expressions of Java


def _compiled(pattern: str) -> Any:
    """None: the pattern is not valid."""
    try:
        return compile_java(pattern)
    except re.error:
        return None


def _arrow_pattern(*columns: Any) -> bool:
    text, pattern = columns
    constant = isinstance(pattern, pa.Scalar) and pattern.is_valid and isinstance(text, pa.Array)
    return constant and for_arrow(pattern.as_py())


def _regexp(_: CallSite, text: str, pattern: str) -> bool:
    try:
        return bool(pattern) and compile_java(pattern).search(text) is not None
    except re.error:
        return False


def _regexp_columns(site: CallSite, text: Any, pattern: Any) -> Any:
    if _arrow_pattern(text, pattern) and pattern.as_py():
        return pc.match_substring_regex(text, pattern.as_py())
    return rows_of(_regexp, site, (text, pattern))


scalar(
    "REGEXP",
    takes(TEXT, TEXT, result=strict(BOOLEAN)),
    columns=_regexp_columns,
    doc="Whether a part of a text matches a regular expression of Java.",
    example="REGEXP('100-200', '\\d+')",
)


def _regexp_replace(_: CallSite, text: str, pattern: str, new: str) -> str | None:
    try:
        return str(compile_java(pattern).sub(_literal(new), text))
    except re.error:
        return None


def _literal(new: str) -> Callable[[Any], str]:
    return lambda _: new


def _regexp_replace_columns(site: CallSite, text: Any, pattern: Any, new: Any) -> Any:
    if (
        _arrow_pattern(text, pattern)
        and isinstance(new, pa.Scalar)
        and new.is_valid
        and "\\" not in new.as_py()
    ):
        return pc.replace_substring_regex(text, pattern=pattern.as_py(), replacement=new.as_py())
    return rows_of(_regexp_replace, site, (text, pattern, new))


scalar(
    "REGEXP_REPLACE",
    takes(TEXT, TEXT, TEXT, result=strict(STRING)),
    columns=_regexp_replace_columns,
    doc="The text with what matches a regular expression replaced by another text, which is taken as it is.",
    example="REGEXP_REPLACE('foobar', 'oo|ar', '')",
)


def _group(match: Any, index: int) -> str | None:
    return None if match is None else match[index]


def _regexp_extract(_: CallSite, text: str, pattern: str, index: int = 0) -> str | None:
    compiled = _compiled(pattern)
    if compiled is None or not 0 <= index <= compiled.groups:
        return None
    return _group(compiled.search(text), index)


def _regexp_extract_columns(site: CallSite, text: Any, pattern: Any, *index: Any) -> Any:
    known = all(isinstance(x, pa.Scalar) and x.is_valid for x in (pattern, *index))
    if known and isinstance(text, pa.Array):
        named = group_for_arrow(pattern.as_py(), index[0].as_py() if index else 0)
        if named is not None:
            return pc.struct_field(pc.extract_regex(text, named), 0)
    return rows_of(_regexp_extract, site, (text, pattern, *index))


scalar(
    "REGEXP_EXTRACT",
    takes(TEXT, TEXT, optional(AS_INT), result=nullable(STRING)),
    columns=_regexp_extract_columns,
    doc="A group (0: all) of the first match of a regular expression; NULL: there is none.",
    example="REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)",
)


def _regexp_extract_all(_: CallSite, text: str, pattern: str, index: int = 1) -> list[str | None] | None:
    compiled = _compiled(pattern)
    if compiled is None or not 0 <= index <= compiled.groups:
        return None
    return [m[index] for m in compiled.finditer(text)]


scalar(
    "REGEXP_EXTRACT_ALL",
    takes(TEXT, TEXT, optional(AS_INT), result=nullable(t.ArrayType(element_type=STRING))),
    value=_regexp_extract_all,
    doc="A group (by default the first) of all matches of a regular expression.",
    example="REGEXP_EXTRACT_ALL('100-200, 300-400', '(\\d+)-(\\d+)', 1)",
)


def _regexp_count(_: CallSite, text: str, pattern: str) -> int | None:
    compiled = _compiled(pattern)
    return None if compiled is None else sum(1 for _m in compiled.finditer(text))


scalar(
    "REGEXP_COUNT",
    takes(TEXT, TEXT, result=nullable(INT)),
    value=_regexp_count,
    doc="How often a regular expression matches.",
    example="REGEXP_COUNT('a.b.c.d', '\\.')",
)


def _regexp_instr(_: CallSite, text: str, pattern: str) -> int | None:
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    match = compiled.search(text)
    return 0 if match is None else match.start() + 1


scalar(
    "REGEXP_INSTR",
    takes(TEXT, TEXT, result=nullable(INT)),
    value=_regexp_instr,
    doc="Where a regular expression matches first, from 1; 0: nowhere.",
    example="REGEXP_INSTR('hello world! Hello', 'Hello')",
)


def _regexp_substr(_: CallSite, text: str, pattern: str) -> str | None:
    compiled = _compiled(pattern)
    return None if compiled is None else _group(compiled.search(text), 0)


scalar(
    "REGEXP_SUBSTR",
    takes(TEXT, TEXT, result=nullable(STRING)),
    value=_regexp_substr,
    doc="The first part that a regular expression matches; NULL: there is none.",
    example="REGEXP_SUBSTR('abc123xyz456', '\\d+')",
)


def _split(_: CallSite, text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


scalar(
    "SPLIT",
    takes(TEXT, TEXT, result=lambda d: t.ArrayType(element_type=STRING, nullable=any(x.nullable for x in d))),
    value=_split,
    doc="The pieces between separators.",
    example="SPLIT('a,b,c', ',')",
)
