"""PRINTF: Java's format strings."""

from __future__ import annotations

import decimal
import re
from typing import Any, Final

from firesteel.sql import types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import STRING, TEXT

_SPECIFIER: Final = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


class _FormatError(ValueError):
    """Java's IllegalFormatException."""


def _grouped(text: str, flags: str, width: int) -> str:
    if "(" in flags and text.startswith("-"):
        text = f"({text[1:]})"
    elif "+" in flags and not text.startswith("-"):
        text = "+" + text
    elif " " in flags and not text.startswith("-"):
        text = " " + text
    if "0" in flags and len(text) < width:
        sign = text[0] if text[0] in "+- (" else ""
        text = sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text


def _integer(value: Any, flags: str, width: int, _: int | None) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _FormatError
    return _grouped(f"{value:,}" if "," in flags else str(value), flags, width)


def _base(kind: str, bits: int = 32) -> Any:
    def show(value: Any, flags: str, width: int, _: int | None) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _FormatError
        wide = 64 if value < -(1 << 31) or value >= 1 << 31 else bits
        return _grouped(format(value & ((1 << wide) - 1), kind), flags, width)

    return show


def _fixed(value: Any, flags: str, width: int, places: int | None) -> str:
    number = _number(value)
    quantum = decimal.Decimal((0, (1,), -(6 if places is None else places)))
    rounded = number.quantize(quantum, decimal.ROUND_HALF_UP)
    return _grouped(f"{rounded:,f}" if "," in flags else f"{rounded:f}", flags, width)


def _scientific(value: Any, flags: str, width: int, places: int | None) -> str:
    return _grouped(f"{_number(value):.{6 if places is None else places}e}", flags, width)


def _number(value: Any) -> decimal.Decimal:
    if isinstance(value, float):
        return decimal.Decimal(repr(value))
    if isinstance(value, decimal.Decimal):
        return value
    raise _FormatError


def _text(value: Any, flags: str, width: int, most: int | None) -> str:
    shown = "true" if value is True else "false" if value is False else str(value)
    return shown if most is None else shown[:most]


def _boolean(value: Any, flags: str, width: int, most: int | None) -> str:
    return "false" if value is False else "true"


def _character(value: Any, flags: str, width: int, _: int | None) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return chr(value)
    raise _FormatError


_SHOW: Final[dict[str, Any]] = {
    "d": _integer,
    "x": _base("x"),
    "X": lambda *a: _base("x")(*a).upper(),
    "o": _base("o"),
    "f": _fixed,
    "e": _scientific,
    "E": lambda *a: _scientific(*a).upper(),
    "g": _scientific,
    "s": _text,
    "S": lambda *a: _text(*a).upper(),
    "b": _boolean,
    "B": lambda *a: _boolean(*a).upper(),
    "c": _character,
}


def java_format(template: str, values: list[Any]) -> str:
    """:raises _FormatError: a specifier is unknown, or has no value of its kind."""
    pieces: list[str] = []
    position = place = 0
    for match in _SPECIFIER.finditer(template):
        literal = template[position : match.start()]
        if "%" in literal:
            raise _FormatError
        pieces.append(literal)
        position = match.end()
        index, flags, width, most, letter = match.groups()
        if letter in "%n":
            pieces.append("%" if letter == "%" else "\n")
            continue
        if letter not in _SHOW:
            raise _FormatError
        if "<" in flags:
            number = place - 1
        elif index is not None:
            number = int(index) - 1
        else:
            number, place = place, place + 1
        if not 0 <= number < len(values):
            raise _FormatError
        value = values[number]
        size = int(width or 0)
        if value is None:
            shown = "false" if letter in "bB" else "null"
        else:
            shown = _SHOW[letter](value, flags, size, None if most is None else int(most))
        pieces.append(shown.ljust(size) if "-" in flags else shown.rjust(size))
    rest = template[position:]
    if "%" in rest:
        raise _FormatError
    return "".join([*pieces, rest])


def _java_value(value: Any, kind: t.DataType) -> Any:
    """What Java's formatter sees: timestamps as ``2024-07-30T10:24``, dates and times as numbers."""
    if value is None or not isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        return value
    from firesteel.sql.functions.json_making import _timestamp

    text = _timestamp(value, kind).removesuffix("Z")
    return text.removesuffix(":00") if text.count(":") == 2 and "." not in text else text


def _printf(site: CallSite, template: str | None, *values: Any) -> str | None:
    if template is None:
        return None
    shown = [_java_value(v, k) for v, k in zip(values, site.types[1:], strict=True)]
    try:
        return java_format(template, shown)
    except _FormatError:
        return None


def _rule(call: CallTypes) -> Typing | None:
    if not call.types or TEXT.accept(call.types[0]) is None:
        return None
    nested = (t.ArrayType, t.MapType, t.RowType, t.MultisetType)
    if any(isinstance(d, nested) for d in call.types[1:]):
        return None
    return Typing(STRING, (TEXT.accept(call.types[0]) or STRING, *call.types[1:]))


scalar(
    "PRINTF",
    _rule,
    value=_printf,
    takes_null=True,
    signatures=("PRINTF(<CHARACTER_STRING>, <ANY>...)",),
    doc="The values in a format string of Java; NULL: it is none, or a value does not fit.",
    example="PRINTF('%d of %s', 2, 'a')",
)
