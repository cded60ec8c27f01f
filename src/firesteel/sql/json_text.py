"""JSON as Flink's functions read and write it: numbers keep their digits, text is compact."""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

__all__ = ["JsonError", "is_scalar", "parse", "quoted", "text_of", "unquoted"]


class JsonError(ValueError):
    """A text is no JSON."""


_DECODER: Final = msgspec.json.Decoder(float_hook=decimal.Decimal)
#: the same as ``parse``, which raises what msgspec raises
decode: Final = _DECODER.decode


@lru_cache(maxsize=8)
def parse(text: str) -> Any:
    """Return dicts, lists, str, int, Decimal, bool and None; callers do not change them.

    Several functions of one row read the same text one after the other: it is parsed once.

    :raises JsonError: it is no JSON.
    """
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JsonError(str(error)) from error


def _refuse(constant: str) -> Any:
    raise JsonError(f"Non-standard token '{constant}'")


def parse_strictly(text: str) -> Any:
    """The same, but a key that is there twice is an error."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            raise JsonError("Failed to parse json string: a key is there twice")
        return found

    try:
        return json.loads(text, parse_float=decimal.Decimal, parse_constant=_refuse, object_pairs_hook=pairs)
    except JsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise JsonError(f"Failed to parse json string: {text}") from error


def is_scalar(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


class Raw(str):
    """JSON text that is put into other JSON as it is."""

    __slots__ = ()


_WRITE: Final[dict[type, Callable[[Any], str]]] = {
    str: _string,
    Raw: str,
    bool: lambda v: "true" if v else "false",
    int: str,
    decimal.Decimal: str,
    float: lambda v: _float(v),
    type(None): lambda v: "null",
    dict: lambda v: "{" + ",".join(f"{_string(str(k))}:{text_of(x)}" for k, x in _in_order(v)) + "}",
    list: lambda v: "[" + ",".join(map(text_of, v)) + "]",
    tuple: lambda v: "[" + ",".join(map(text_of, v)) + "]",
}


def _float(value: float) -> str:
    from firesteel.common._java_numbers import double_to_string

    return double_to_string(value)


def _in_order(entries: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Entries by their keys, compared as Java compares texts."""
    return sorted(entries.items(), key=lambda entry: str(entry[0]).encode("utf-16-be", "surrogatepass"))


def text_of(value: Any) -> str:
    """The compact text of a value; the entries of objects come in the order of their keys, as in Flink."""
    return _WRITE[type(value)](value)


# ---- quoting

_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def quoted(text: str) -> str:
    """A text as JSON of ASCII only."""
    return '"' + "".join(_SHORT.get(c) or (c if " " <= c <= "~" else _escaped(c)) for c in text) + '"'


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


_LONG: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def unquoted(text: str) -> str:
    """What is between quotes, with its escapes resolved; a text that is not such stays as it is."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    inner = _unescaped(text[1:-1])
    return text if inner is None else inner


def _unescaped(text: str) -> str | None:
    if "\\" not in text:
        return text
    pieces: list[str] = []
    i = 0
    while i < len(text):
        character = text[i]
        if character != "\\":
            pieces.append(character)
            i += 1
            continue
        following = text[i + 1 : i + 2]
        if following == "u":
            digits = text[i + 2 : i + 6]
            if len(digits) < 4 or not all(c in "0123456789abcdefABCDEF" for c in digits):
                return None
            pieces.append(chr(int(digits, 16)))
            i += 6
        elif following in _LONG:
            pieces.append(_LONG[following])
            i += 2
        else:
            return None
    joined = "".join(pieces)
    return joined.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
