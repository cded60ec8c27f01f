"""Which kinds of rows a changelog has (PyFlink: ``pyflink.table.changelog_mode``)."""

from __future__ import annotations

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """Made by its static methods."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self._kinds = kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """New rows alone."""
        return ChangelogMode(frozenset(("+I",)))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Updates by a key, without the old row."""
        return ChangelogMode(frozenset(("+I", "+U", "-D")))

    @staticmethod
    def all() -> ChangelogMode:
        """Updates with their old rows."""
        return ChangelogMode(frozenset(("+I", "-U", "+U", "-D")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __repr__(self) -> str:
        names = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}
        return f"[{', '.join(name for kind, name in names.items() if kind in self._kinds)}]"
