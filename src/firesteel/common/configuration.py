"""Options as keys and values (Flink: ``Configuration``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from firesteel.common import _config_file, _config_kinds as kinds
from firesteel.common._config_values import (
    parse_boolean,
    parse_float,
    parse_integer,
    parse_memory_bytes,
    to_text,
)
from firesteel.common.config_options import ConfigOption
from firesteel.common.errors import ConfigurationError
from firesteel.common.logs import logger
from firesteel.common.masking import is_secret, masked_value, remember
from firesteel.common.options import OLDER_NAMES

__all__ = ["Configuration"]

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

_logger = logger(__name__)
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

    __slots__ = ("_origins", "_values")

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)
        self._origins: dict[str, str] = {} if other is None else dict(other._origins)

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
        return cls.from_dict(_config_file.load(path)).from_origin(f"the configuration file {path}")

    def from_origin(self, origin: str) -> Configuration:
        """Remember where all options come from that are set now, for the errors about their values."""
        self._origins = dict.fromkeys(self._values, origin)
        return self

    def origin(self, key: str) -> str:
        """Return where the value of an option comes from, such as ``the command line``."""
        return self._origins.get(key, "the program")

    def _set(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str):
            raise ConfigurationError(f"the key of an option is text, not {key!r}")
        if value is None:
            raise ConfigurationError(f"the option {key!r} cannot be None", hint="remove_config takes it out")
        self._values[key] = value
        remember(key, value)
        self._origins.pop(key, None)
        return self

    def _find(self, key: str, older_names: tuple[str, ...] = ()) -> tuple[str, Any]:
        """Return the name under which the option is set, and its value (``_MISSING``: none)."""
        values = self._values
        value = values.get(key, _MISSING)
        for older in older_names or OLDER_NAMES.get(key, ()):
            if older not in values:
                continue
            if value is _MISSING:
                return older, values[older]
            if to_text(value) != to_text(values[older]):
                _logger.warning(
                    "option set under two names, the older one is not used: %s=%s, %s=%s",
                    key,
                    masked_value(key, to_text(value)),
                    older,
                    masked_value(older, to_text(values[older])),
                )
        return key, value

    def _read(
        self,
        key: str,
        default: T,
        convert: Callable[[Any], T],
        kind: str | None = None,
        older_names: tuple[str, ...] = (),
    ) -> T:
        name, value = self._find(key, older_names)
        if value is _MISSING:
            return default
        try:
            return convert(value)
        except (ValueError, TypeError) as error:
            expected = "" if kind is None else f"; the option is a {kind}"
            why = "its value is a secret" if is_secret(name) else f"{error}"
            raise ConfigurationError(
                f"could not parse the value {masked_value(name, to_text(value))!r} of the option {name!r}",
                detail=f"{why}{expected}; set by {self.origin(name)}",
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
        """``"a;b"``, ``"[a, b]"`` or lines ``"- a"`` of YAML as a list of text."""
        return kinds.parse_list(value)

    def key_set(self) -> set[str]:
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all options into a dict, typed as they were set."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all options of another configuration; ``prefix`` is put before each key."""
        for key, value in other._values.items():
            name = (prefix or "") + key
            self._set(name, value)
            if key in other._origins:
                self._origins[name] = other._origins[key]
        return self

    def contains_key(self, key: str) -> bool:
        return self._find(key)[1] is not _MISSING

    def to_dict(self) -> dict[str, str]:
        """All options as text."""
        return {key: to_text(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Take an option out, under all its names. False: it was not there."""
        found = [name for name in (key, *OLDER_NAMES.get(key, ())) if name in self._values]
        for name in found:
            del self._values[name]
            self._origins.pop(name, None)
        return bool(found)

    # -- typed access for the rest of Firesteel

    def get(self, option: ConfigOption[T]) -> T:
        """Return the value of a described option, or its default (None if it has none).

        :raises ConfigurationError: the value is not of the kind of the option.
        """
        if option.kind is kinds.MAP:
            default: Any = self._entries(option.key) or option.default_value
        else:
            default = option.default_value
        value: T = self._read(option.key, default, option.read, option.kind.name, option.older_names)
        return value

    def get_member(self, option: ConfigOption[Any], members: type[E]) -> E:
        """Return the member of an enum that an option names."""
        return members[self.get(option)]

    def contains(self, option: ConfigOption[Any]) -> bool:
        """Whether the option is set, under its key or an older name."""
        return self._find(option.key, option.older_names)[1] is not _MISSING

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        return self._set(option.key, value)

    def get_duration_ms(self, key: str, default_value: int) -> int:
        """A length of time as whole milliseconds: ``"60 s"``, ``"1 min"``, ``"PT1M"``, or a plain number."""
        return self._read(key, default_value, kinds.read_duration_ms)

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
        return self._read(key, default_value or [], kinds.read_list)

    def get_map(self, key: str, default_value: dict[str, str] | None = None) -> dict[str, str]:
        """Texts by name: ``"a:1,b:2"``, ``"{a: 1, b: 2}"``, or options ``key.a``, ``key.b``."""
        return self._read(key, self._entries(key) or default_value or {}, kinds.read_map)

    def _entries(self, key: str) -> dict[str, str]:
        """The options ``key.a``, ``key.b`` as a map."""
        prefix = f"{key}."
        return {k[len(prefix) :]: to_text(v) for k, v in self._values.items() if k.startswith(prefix)}

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
        """The options without their secrets; ``to_dict`` has them."""
        shown = (f"{key}={masked_value(key, to_text(value))}" for key, value in self._values.items())
        return f"{{{', '.join(shown)}}}"
