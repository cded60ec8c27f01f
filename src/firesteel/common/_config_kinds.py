"""The kinds of values that configuration options have: how each is read from what was set."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common import _config_file
from firesteel.common._config_values import (
    parse_boolean,
    parse_duration_nanos,
    parse_float,
    parse_integer,
    parse_memory_bytes,
    to_text,
)
from firesteel.common._java_numbers import to_float32
from firesteel.common.time import Duration


@dataclass(frozen=True, slots=True)
class Kind:
    """:param name: as the documentation calls it.
    :param read: gives the value of this kind; raises ValueError or TypeError when there is none.
    """

    name: str
    read: Callable[[Any], Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return _kind_named, (self.name,)


def read_duration_ms(value: Any) -> int:
    """Return a length of time in whole milliseconds."""
    if isinstance(value, Duration):
        return value.to_millis()
    return parse_duration_nanos(to_text(value)) // 1_000_000


def read_list(value: Any) -> list[str]:
    """Return a list of text: given as one, as ``"a;b"`` or as ``"[a, b]"``."""
    parts = value if isinstance(value, list) else parse_list(to_text(value))
    return [to_text(part) for part in parts]


def parse_list(text: str) -> list[Any]:
    """``"a;b"``, ``"[a, b]"`` or lines ``"- a"`` of YAML as a list."""
    if not text:
        return []
    if text.lstrip().startswith("- "):
        return _config_file.parse_list(text)
    parsed = _config_file.parse_scalar(text)
    return parsed if isinstance(parsed, list) else text.split(";")


def read_paths(value: Any) -> list[str]:
    """Return paths that are separated by commas, or as in the variable PATH."""
    listed = to_text(value).replace(os.pathsep, ",").split(",")
    return [path.strip() for path in listed if path.strip()]


def read_map(value: Any) -> dict[str, str]:
    """Return texts by name: given as a dict, as ``"a:1,b:2"`` or as ``"{a: 1, b: 2}"``."""
    if not isinstance(value, dict):
        text = to_text(value).strip()
        text = text if text.startswith("{") else f"{{{text}}}"
        parts = _config_file.split_outside_quotes(text[1:-1], ",")
        if any(":" not in part for part in parts if part.strip()):
            raise ValueError("a map is written as 'key:value,key:value'")
        value = _config_file.parse_scalar(text)
    return {str(key): to_text(item) for key, item in value.items()}


BOOLEAN: Final = Kind("boolean", lambda value: parse_boolean(to_text(value)))
INT: Final = Kind("integer", lambda value: parse_integer(to_text(value), 32))
LONG: Final = Kind("long", lambda value: parse_integer(to_text(value), 64))
FLOAT: Final = Kind("float", lambda value: to_float32(parse_float(to_text(value))))
DOUBLE: Final = Kind("double", lambda value: parse_float(to_text(value)))
STRING: Final = Kind("text", to_text)
DURATION: Final = Kind("duration", read_duration_ms)
MEMORY: Final = Kind("memory size", lambda value: parse_memory_bytes(to_text(value)))
LIST: Final = Kind("list", read_list)
PATHS: Final = Kind("paths", read_paths)
MAP: Final = Kind("map", read_map)

_KINDS: Final = {
    kind.name: kind
    for kind in (BOOLEAN, INT, LONG, FLOAT, DOUBLE, STRING, DURATION, MEMORY, LIST, PATHS, MAP)
}


def _kind_named(name: str) -> Kind:
    return _KINDS[name]
