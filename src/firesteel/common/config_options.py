"""Typed descriptions of configuration options (Flink: ``ConfigOptions``)."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")

__all__ = ["ConfigOption", "ConfigOptions"]


class ConfigOption(Generic[T]):
    """A key, the type of its value and the default. ``Configuration.get(option)`` reads it.

    :ivar key: the name of the option.
    :ivar value_type: ``bool``, ``int``, ``float`` or ``str``.
    :ivar default_value: None: there is none.
    :ivar bits: width of a number, for the range check; None for text and booleans.
    """

    __slots__ = ("bits", "default_value", "key", "value_type")

    def __init__(self, key: str, value_type: type, default_value: T | None, bits: int | None = None) -> None:
        self.key = key
        self.value_type = value_type
        self.default_value = default_value
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigOption) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.key, self.value_type, self.bits))

    def _identity(self) -> tuple[Any, ...]:
        return (self.key, self.value_type, self.default_value, self.bits)

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
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int, 32)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int, 64)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float, 32)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float, 64)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """Has a key and a type, needs a default or none."""

        def __init__(self, key: str, value_type: type, bits: int | None = None) -> None:
            self._key = key
            self._value_type = value_type
            self._bits = bits

        def default_value(self, value: T) -> ConfigOption[T]:
            return ConfigOption(self._key, self._value_type, value, self._bits)

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self._key, self._value_type, None, self._bits)
