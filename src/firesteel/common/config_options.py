"""Typed descriptions of configuration options (Flink: ``ConfigOption`` and ``ConfigOptions``)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from firesteel.common import _config_kinds as kinds
from firesteel.common._config_kinds import Kind

T = TypeVar("T")

__all__ = ["ConfigOption", "ConfigOptions"]


class Bounds(NamedTuple):
    """The values that an option may have: from `least` to `most`, and one that means something else.

    For a text the numbers of its letters.
    """

    least: int
    most: int | None = None
    beside: int | None = None

    def check(self, value: Any) -> None:
        """Raise ValueError when *value* is out of bounds."""
        number = len(value) if isinstance(value, str) else value
        if number == self.beside or self.least <= number <= (number if self.most is None else self.most):
            return
        if isinstance(value, str):
            raise ValueError("it must not be empty")
        bounds = f"at least {self.least}" if self.most is None else f"between {self.least} and {self.most}"
        beside = "" if self.beside is None else f", or {self.beside}"
        raise ValueError(f"it must be {bounds}{beside}")


@dataclass(frozen=True, slots=True, repr=False)
class ConfigOption(Generic[T]):
    """Describes an option: its key, the kind of its value and its default. ``Configuration.get`` reads it.

    Two options are equal when key, kind and default are.

    :param default_value: None: there is none. Durations are in milliseconds, memory sizes in bytes.
    :param words: the values that are allowed, in any case; empty: all of the kind.
    :param older_names: keys under which the value is found too, the most recent first.
    :param description: what the option does, in a sentence or two (Markdown).
    :param scope: what the option holds for: ``job``, ``process`` or ``cluster``.
    :param since: the first release of Firesteel that knows the key.
    :param no_effect: why the engine does nothing with a value other than the default; None: it does.
    :param bounds: of a number, a duration or a size; None: all of the kind are allowed.
    """

    key: str
    kind: Kind
    default_value: T | None
    words: tuple[str, ...] = ()
    older_names: tuple[str, ...] = field(default=(), compare=False)
    description: str = field(default="", compare=False)
    scope: str = field(default="job", compare=False)
    since: str = field(default="0.1.0", compare=False)
    no_effect: str | None = field(default=None, compare=False)
    bounds: Bounds | None = field(default=None, compare=False)

    def with_deprecated_keys(self, *deprecated_keys: str) -> ConfigOption[T]:
        """Return the option with older names, under which its value is found too."""
        return replace(self, older_names=deprecated_keys + self.older_names)

    def with_fallback_keys(self, *fallback_keys: str) -> ConfigOption[T]:
        """Return the option with further names, under which its value is found too."""
        return self.with_deprecated_keys(*fallback_keys)

    def with_description(self, description: str) -> ConfigOption[T]:
        """Return the option with a description."""
        return replace(self, description=description)

    def read(self, value: Any) -> Any:
        """Return the value of the option that was set as ``value``.

        :raises ValueError: it is not of the kind, not one of the words, or out of bounds.
        """
        found = self.kind.read(value)
        if self.bounds is not None:
            self.bounds.check(found)
        if not self.words:
            return found
        for word in self.words:
            if word.upper().replace("_", "-") == found.strip().upper().replace("_", "-"):
                return word
        raise ValueError(f"it must be one of {', '.join(self.words)}")

    def __repr__(self) -> str:
        return f"Key: '{self.key}' , default: {self.default_value}"


class ConfigOptions:
    """Where options are described.

    >>> ConfigOptions.key("parallelism.default").int_type().default_value(1).key
    'parallelism.default'
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Has a key, needs a type."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kinds.BOOLEAN)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kinds.INT)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kinds.LONG)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kinds.FLOAT)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kinds.DOUBLE)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kinds.STRING)

    class TypedConfigOptionBuilder(Generic[T]):
        """Has a key and a type, needs a default or none."""

        def __init__(self, key: str, kind: Kind) -> None:
            self._key = key
            self._kind = kind

        def default_value(self, value: T) -> ConfigOption[T]:
            return ConfigOption(self._key, self._kind, value)

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self._key, self._kind, None)
