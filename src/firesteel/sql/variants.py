"""VARIANT: semi-structured values, kept as canonical JSON text (keys in order, no digits that mean
nothing)."""

from __future__ import annotations

import decimal
from typing import Any

from firesteel.sql.json_text import parse, parse_strictly, text_of as json_text

__all__ = ["element", "make", "text_of"]


def make(text: str, allow_duplicates: bool = False) -> str:
    """The VARIANT of a JSON text.

    :raises JsonError: it is none.
    """
    return json_text(_canonical(parse(text) if allow_duplicates else parse_strictly(text)))


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _canonical(value[k]) for k in sorted(value)}
    if isinstance(value, list):
        return [_canonical(v) for v in value]
    if isinstance(value, decimal.Decimal):
        short = value.normalize()
        return (
            decimal.Decimal(int(short))
            if short == short.to_integral() and abs(short.adjusted()) < 38
            else short
        )
    return value


def text_of(variant: str) -> str:
    return variant


def element(variant: str, index: Any) -> str | None:
    """The value of a key of an object, or an item of an array, counted from 1; None: there is none.

    :raises ValueError: a key of what is no object, or an item of what is no array.
    """
    value = parse(variant)
    if isinstance(index, str):
        if not isinstance(value, dict):
            raise ValueError(
                "String key access on variant requires an object variant, but a non-object variant was "
                "provided."
            )
        return json_text(value[index]) if index in value else None
    if not isinstance(value, list):
        raise ValueError(
            "Integer index access on variant requires an array variant, but a non-array variant was provided."
        )
    return json_text(value[index - 1]) if 1 <= index <= len(value) else None
