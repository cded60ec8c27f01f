"""Options of tables: descriptions, check, typed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from firesteel.common._config_kinds import read_duration_ms
from firesteel.common._config_values import parse_boolean, parse_float, parse_integer, parse_memory_bytes
from firesteel.common.masking import masked_value
from firesteel.util.exceptions import TableException

__all__ = [
    "AT_LEAST_ONCE",
    "Option",
    "TableOptions",
    "boolean",
    "duration",
    "integer",
    "memory",
    "number",
    "parallelism",
    "refused",
    "text",
    "word",
]


@dataclass(frozen=True, slots=True)
class Option:
    """:param read: text -> value; raises ValueError. :param words: the values that there are, in any case.
    :param refused: why an option of Flink has no effect here, and so is refused, unless its value is one of
        *words*, which say what is done anyway. :param hint: what to do."""

    key: str
    read: Callable[[str], Any] = str
    default: Any = None
    required: bool = False
    words: tuple[str, ...] = ()
    refused: str = ""
    hint: str | None = None

    def value(self, text: str) -> Any:
        if not self.words:
            return self.read(text)
        for known in self.words:
            if known.lower() == text.lower():
                return known
        raise ValueError(f"it must be one of {', '.join(self.words)}")

    def refuses(self, text: str) -> bool:
        """Return whether the option has no effect here, and the value asks for one."""
        return bool(self.refused) and text.lower() not in (known.lower() for known in self.words)


def text(key: str, default: str | None = None, required: bool = False) -> Option:
    return Option(key, str, default, required)


def integer(key: str, default: int | None = None, required: bool = False) -> Option:
    return Option(key, parse_integer, default, required)


def number(key: str, default: float | None = None) -> Option:
    return Option(key, parse_float, default)


def boolean(key: str, default: bool | None = None) -> Option:
    return Option(key, parse_boolean, default)


def duration(key: str, default_ms: int | None = None) -> Option:
    return Option(key, read_duration_ms, default_ms)


def memory(key: str, default_bytes: int | None = None) -> Option:
    return Option(key, parse_memory_bytes, default_bytes)


def word(key: str, words: Iterable[str], default: str | None = None, required: bool = False) -> Option:
    return Option(key, str, default, required, tuple(words))


def refused(key: str, why: str, hint: str | None = "leave it out", *, unless: tuple[str, ...] = ()) -> Option:
    """Return an option that Flink has, and that is refused with its reason.

    :param unless: the values that say what is done anyway; they are accepted.
    """
    return Option(key, words=unless, refused=why, hint=hint)


#: Of sinks that can do nothing else.
AT_LEAST_ONCE: Final = refused(
    "sink.delivery-guarantee",
    "rows are written at least once; with a primary key that changes nothing",
    unless=("at-least-once", "none"),
)


def parallelism(key: str) -> Option:
    """Return an option that says how many subtasks there are."""
    return Option(key, _positive)


def _positive(text: str) -> int:
    found = parse_integer(text)
    if found < 1:
        raise ValueError("it must be at least 1")
    return found


_GENERAL: Final = (text("property-version"),)


class TableOptions:
    """The options of one table, read."""

    def __init__(
        self, connector: str, table: str, given: Mapping[str, str], known: Mapping[str, Option]
    ) -> None:
        self.connector = connector
        self.table = table
        self.given = dict(given)
        self._known = known

    @classmethod
    def checked(
        cls,
        connector: str,
        table: str,
        given: Mapping[str, str],
        options: Iterable[Option],
        wildcards: Iterable[str] = (),
    ) -> TableOptions:
        """:raises TableException: an option is unknown, missing or malformed."""
        every = {option.key: option for option in [*options, *_GENERAL]}
        for key in sorted(every.keys() & given.keys()):
            option = every[key]
            if option.refuses(given[key]):
                accepted = f"its values here are {', '.join(option.words)}" if option.words else None
                raise TableException(
                    f"The option '{key}' is not supported.",
                    detail=f"{option.refused}, table {table}",
                    hint="; ".join(filter(None, (option.hint, accepted))) or None,
                )
        known = {key: option for key, option in every.items() if not option.refused or option.words}
        prefixes = tuple(wildcards)
        unknown = [k for k in given if k not in known and not (prefixes and k.startswith(prefixes))]
        if unknown:
            near = [m for k in unknown for m in get_close_matches(k, every, 1, 0.7)]
            raise TableException(
                f"Unsupported options found for '{connector}'.",
                detail=f"Unsupported options: {', '.join(sorted(unknown))} of table {table}",
                hint=(f"did you mean {', '.join(near)}? " if near else "")
                + f"Supported options: {', '.join(sorted([*known, *(p + '*' for p in prefixes)]))}",
            )
        missing = sorted(o.key for o in known.values() if o.required and o.key not in given)
        if missing:
            raise TableException(
                "One or more required options are missing.",
                detail=f"Missing required options are: {', '.join(missing)}, of the connector "
                f"'{connector}' of table {table}",
            )
        made = cls(connector, table, given, known)
        for key in given:
            if key in known:
                made[key]
        return made

    def __getitem__(self, key: str) -> Any:
        option = self._known[key]
        if key not in self.given:
            return option.default
        try:
            return option.value(self.given[key])
        except ValueError as error:
            raise TableException(
                f"Invalid value for option '{key}'.",
                detail=f"{masked_value(key, self.given[key])} of table {self.table}: {error}",
            ) from error

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._known:
            return default
        found = self[key]
        return default if found is None else found

    def __contains__(self, key: str) -> bool:
        return key in self.given

    def starting(self, prefix: str) -> dict[str, str]:
        """The options that begin so, without the prefix."""
        return {k.removeprefix(prefix): v for k, v in self.given.items() if k.startswith(prefix)}

    def error(self, key: str, why: str, hint: str | None = None) -> TableException:
        """An error about the value of an option."""
        return TableException(
            f"Invalid value for option '{key}'.", detail=f"{why}, table {self.table}", hint=hint
        )
