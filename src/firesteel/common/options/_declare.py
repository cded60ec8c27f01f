"""Short forms in which the tables describe options, one for each kind of value."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.common import _config_kinds as kinds
from firesteel.common.config_options import ConfigOption

N = TypeVar("N", None, str)  # a text or no default
M = TypeVar("M", int, None)  # a number or no default


def boolean(key: str, default: bool, description: str, **more: Any) -> ConfigOption[bool]:
    return ConfigOption(key, kinds.BOOLEAN, default, description=description, **more)


def integer(key: str, default: M, description: str, **more: Any) -> ConfigOption[int | M]:
    return ConfigOption(key, kinds.INT, default, description=description, **more)


def number(key: str, default: float, description: str, **more: Any) -> ConfigOption[float]:
    return ConfigOption(key, kinds.DOUBLE, default, description=description, **more)


def text(key: str, default: N, description: str, **more: Any) -> ConfigOption[str | N]:
    return ConfigOption(key, kinds.STRING, default, description=description, **more)


def word(
    key: str, default: N, words: tuple[str, ...], description: str, **more: Any
) -> ConfigOption[str | N]:
    """One of ``words``."""
    return ConfigOption(key, kinds.STRING, default, words, description=description, **more)


def duration(key: str, default_ms: M, description: str, **more: Any) -> ConfigOption[int | M]:
    return ConfigOption(key, kinds.DURATION, default_ms, description=description, **more)


def memory(key: str, default_bytes: M, description: str, **more: Any) -> ConfigOption[int | M]:
    return ConfigOption(key, kinds.MEMORY, default_bytes, description=description, **more)


def texts(key: str, description: str, **more: Any) -> ConfigOption[list[str]]:
    return ConfigOption(key, kinds.LIST, [], description=description, **more)


def paths(key: str, description: str, **more: Any) -> ConfigOption[list[str]]:
    return ConfigOption(key, kinds.PATHS, [], description=description, **more)


def mapping(key: str, description: str, **more: Any) -> ConfigOption[dict[str, str]]:
    """Set as a whole, or entry by entry as ``key.name``."""
    return ConfigOption(key, kinds.MAP, {}, description=description, **more)
