"""Modules of functions (PyFlink: ``pyflink.table.module``)."""

from __future__ import annotations

from firesteel.common.errors import UnsupportedFeatureError

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A set of functions. There is ``core`` alone."""

    def __init__(self, name: str = "core") -> None:
        self._name = name


class HiveModule(Module):
    """The functions of Hive. They are not available."""

    def __init__(self, hive_version: str | None = None) -> None:
        raise UnsupportedFeatureError(
            "The functions of Hive are not available.", hint="register functions with udf"
        )


class ModuleEntry:
    """A module, and whether it is used."""

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        return self._name

    def used(self) -> bool:
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry(name={self._name}, used={self._used})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (self._name, self._used) == (other._name, other._used)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: ModuleEntry) -> bool:
        return self._name < other._name

    def __hash__(self) -> int:
        return hash((self._name, self._used))
