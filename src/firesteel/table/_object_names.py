"""Names of what is in catalogs."""

from __future__ import annotations

from firesteel.common.errors import ProgramError
from firesteel.sql import catalog as logical

__all__ = ["ObjectIdentifier", "ObjectPath"]


class ObjectPath:
    """A database and an object in it."""

    def __init__(self, database_name: str | None = None, object_name: str | None = None) -> None:
        self._database = database_name or ""
        self._object = object_name or ""

    def get_database_name(self) -> str:
        return self._database

    def get_object_name(self) -> str:
        return self._object

    def get_full_name(self) -> str:
        return f"{self._database}.{self._object}"

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path of ``database.object``."""
        parts = full_name.split(".")
        if len(parts) != 2 or not all(parts):
            raise ProgramError(f"Cannot get split '{full_name}' to get databaseName and objectName")
        return ObjectPath(*parts)

    def compare_to(self, other: ObjectPath) -> int:
        """Below 0, 0 or above 0, as it comes before, with or behind another one."""
        mine, its = self.get_full_name(), other.get_full_name()
        return (mine > its) - (mine < its)

    def __str__(self) -> str:
        return self.get_full_name()

    def __hash__(self) -> int:
        return hash(self.get_full_name())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self.get_full_name() == other.get_full_name()

    def __lt__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) < 0

    def __le__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) <= 0

    def __gt__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) > 0

    def __ge__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) >= 0


class ObjectIdentifier:
    """The full name of an object. Made by ``of``."""

    def __init__(self, path: logical.ObjectPath) -> None:
        self._path = path

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        if not object_name:
            raise ProgramError("Object name must not be empty.")
        return ObjectIdentifier(logical.ObjectPath(catalog_name, database_name, object_name))

    def get_catalog_name(self) -> str:
        return self._path.catalog

    def get_database_name(self) -> str:
        return self._path.database

    def get_object_name(self) -> str:
        return self._path.name

    def to_object_path(self) -> ObjectPath:
        return ObjectPath(self._path.database, self._path.name)

    def to_list(self) -> list[str]:
        return list(self._path.parts)

    def as_serializable_string(self) -> str:
        """As SQL: each part in backticks."""
        return str(self._path)

    def as_summary_string(self) -> str:
        return self._path.summary()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._path == other._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __str__(self) -> str:
        return str(self._path)
