"""Options as keys and values (Flink: ``Configuration``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from firesteel.common import _config_file
from firesteel.common._config_keys import OLDER_NAMES
from firesteel.common._config_values import (
    parse_boolean,
    parse_duration_nanos,
    parse_float,
    parse_integer,
    parse_memory_bytes,
    to_text,
)
from firesteel.common._java_numbers import to_float32
from firesteel.common.config_options import ConfigOption
from firesteel.common.errors import ConfigurationError
from firesteel.common.time import Duration

__all__ = ["Configuration"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)
_MISSING: Any = object()


class Configuration:
    """Options of a job or a cluster, under Flink's keys.

    Values are kept as they were set, text or typed, and are converted when they are read; what cannot be
    converted is a ``ConfigurationError`` that names the key. An option that was renamed is found under its
    older names too (``state.backend`` for ``state.backend.type``); the present name wins.

    >>> config = Configuration().set_string("execution.checkpointing.interval", "1 min")
    >>> config.get_duration_ms("execution.checkpointing.interval", 0)
    60000
    """

    __slots__ = ("_values",)

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: dict[str, str]) -> Configuration:
        """The options of a dict; values may be text or typed."""
        configuration = cls()
        for key, value in map.items():
            configuration._set(key, value)
        return configuration

    @classmethod
    def load(cls, path: str | Path) -> Configuration:
        """The options of a ``config.yaml`` or ``flink-conf.yaml``, or of a directory that has one."""
        return cls.from_dict(_config_file.load(path))

    def _set(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str):
            raise ConfigurationError(f"the key of an option is text, not {key!r}")
        if value is None:
            raise ConfigurationError(f"the option {key!r} cannot be None", hint="remove_config takes it out")
        self._values[key] = value
        return self

    def _find(self, key: str) -> Any:
        """The value under the key or one of its older names; ``_MISSING`` if there is none."""
        values = self._values
        value = values.get(key, _MISSING)
        for older in OLDER_NAMES.get(key, ()):
            if older not in values:
                continue
            if value is _MISSING:
                return values[older]
            if to_text(value) != to_text(values[older]):
                _logger.warning(
                    "option set under two names, the older one is not used: %s=%s, %s=%s",
                    key,
                    to_text(value),
                    older,
                    to_text(values[older]),
                )
        return value

    def _read(self, key: str, default: Any, convert: Callable[[Any], T]) -> T:
        value = self._find(key)
        if value is _MISSING:
            return default  # type: ignore[no-any-return]
        try:
            return convert(value)
        except (ValueError, TypeError) as error:
            raise ConfigurationError(
                f"could not parse the value {to_text(value)!r} of the option {key!r}", detail=str(error)
            ) from None

    # -- PyFlink's methods

    def get_string(self, key: str, default_value: str) -> str:
        return self._read(key, default_value, to_text)

    def set_string(self, key: str, value: str) -> Configuration:
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"set_string needs text for {key!r}, not {value!r}")
        return self._set(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """A whole number of at most 64 bits."""
        return self._read(key, default_value, lambda value: parse_integer(to_text(value)))

    def set_integer(self, key: str, value: int) -> Configuration:
        return self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        return self._read(key, default_value, lambda value: parse_boolean(to_text(value)))

    def set_boolean(self, key: str, value: bool) -> Configuration:
        return self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        return self._read(key, float(default_value), lambda value: parse_float(to_text(value)))

    def set_float(self, key: str, value: float) -> Configuration:
        return self._set(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        def convert(value: Any) -> bytearray:
            if not isinstance(value, (bytes, bytearray)):
                raise TypeError("the value was not set as bytes")
            return bytearray(value)

        return self._read(key, bytearray(default_value), convert)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        return self._set(key, bytes(value))

    @staticmethod
    def parse_list_value(value: str) -> list[Any]:
        """``"a;b"`` or ``"[a, b]"`` as a list of text."""
        if not value:
            return []
        parsed = _config_file.parse_scalar(value)
        return parsed if isinstance(parsed, list) else value.split(";")

    def key_set(self) -> set[str]:
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all options into a dict, typed as they were set."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all options of another configuration; ``prefix`` is put before each key."""
        self._values.update({(prefix or "") + key: value for key, value in other._values.items()})
        return self

    def contains_key(self, key: str) -> bool:
        return self._find(key) is not _MISSING

    def to_dict(self) -> dict[str, str]:
        """All options as text."""
        return {key: to_text(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Take an option out, under all its names. False: it was not there."""
        found = [name for name in (key, *OLDER_NAMES.get(key, ())) if name in self._values]
        for name in found:
            del self._values[name]
        return bool(found)

    # -- typed access for the rest of Firesteel

    def get(self, option: ConfigOption[T]) -> T:
        """The value of a described option, or its default (None if it has none)."""
        kind, bits = option.value_type, option.bits or 64

        def convert(value: Any) -> Any:
            text = to_text(value)
            if kind is bool:
                return parse_boolean(text)
            if kind is int:
                return parse_integer(text, bits)
            if kind is float:
                return to_float32(parse_float(text)) if bits == 32 else parse_float(text)
            return text

        value: T = self._read(option.key, option.default_value, convert)
        return value

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        return self._set(option.key, value)

    def get_duration_ms(self, key: str, default_value: int) -> int:
        """A length of time as whole milliseconds: ``"60 s"``, ``"1 min"``, ``"PT1M"``, or a plain number."""
        return self._read(key, default_value, _duration_ms)

    def get_memory_bytes(self, key: str, default_value: int) -> int:
        """A size in bytes: ``"128m"``, ``"1 gb"``, or a plain number of bytes."""
        return self._read(key, default_value, lambda value: parse_memory_bytes(to_text(value)))

    def get_enum(self, key: str, default_value: str, allowed: Iterable[str]) -> str:
        """One of some words. Case does not matter; the word is returned as ``allowed`` spells it."""
        words = {word.upper(): word for word in allowed}

        def convert(value: Any) -> str:
            word = words.get(to_text(value).strip().upper())
            if word is None:
                raise ValueError(f"it must be one of {', '.join(words.values())}")
            return word

        return self._read(key, default_value, convert)

    def get_list(self, key: str, default_value: list[str] | None = None) -> list[str]:
        """Some texts: a list, ``"a;b"`` or ``"[a, b]"``."""

        def convert(value: Any) -> list[str]:
            parts = value if isinstance(value, list) else self.parse_list_value(to_text(value))
            return [to_text(part) for part in parts]

        return self._read(key, default_value or [], convert)

    def get_map(self, key: str, default_value: dict[str, str] | None = None) -> dict[str, str]:
        """Texts by name: ``"a:1,b:2"``, ``"{a: 1, b: 2}"``, or options ``key.a``, ``key.b``."""
        nested = {k[len(key) + 1 :]: to_text(v) for k, v in self._values.items() if k.startswith(f"{key}.")}
        return self._read(key, nested or default_value or {}, _to_map)

    # -- as a value

    def __copy__(self) -> Configuration:
        return Configuration(self)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration) or self._values.keys() != other._values.keys():
            return False
        # True == 1 == 1.0 in Python, but they are different values of an option
        return all(
            type(v) is type(other._values[k]) and v == other._values[k] for k, v in self._values.items()
        )

    def __hash__(self) -> int:
        return hash(frozenset((key, to_text(value)) for key, value in self._values.items()))

    def __repr__(self) -> str:
        return f"Configuration({self})"

    def __str__(self) -> str:
        return f"{{{', '.join(f'{key}={to_text(value)}' for key, value in self._values.items())}}}"


def _duration_ms(value: Any) -> int:
    if isinstance(value, Duration):
        return value.to_millis()
    return parse_duration_nanos(to_text(value)) // 1_000_000


def _to_map(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        text = to_text(value).strip()
        text = text if text.startswith("{") else f"{{{text}}}"
        parts = _config_file.split_outside_quotes(text[1:-1], ",")
        if any(":" not in part for part in parts if part.strip()):
            raise ValueError("a map is written as 'key:value,key:value'")
        value = _config_file.parse_scalar(text)
    return {str(key): to_text(item) for key, item in value.items()}
