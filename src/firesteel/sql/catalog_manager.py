"""The catalogs of a session: current catalog and database, temporary objects, full paths, which function a
name means.

Flink: ``CatalogManager`` and ``FunctionCatalog``. What is found here is a definition; ``binder/tables.py``
makes a ``ResolvedTable`` of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from firesteel.sql.catalog import (
    Catalog,
    CatalogError,
    CatalogFunction,
    CatalogModel,
    CatalogTable,
    DatabaseNotFoundError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectPath,
    ResolvedTable,
    TableKind,
)
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.memory_catalog import MemoryCatalog
from firesteel.sql.statistics import KeepsStatistics, TableStatistics

__all__ = ["DEFAULT_CATALOG", "DEFAULT_DATABASE", "CatalogManager", "FoundTable"]

DEFAULT_CATALOG: Final = "default_catalog"
DEFAULT_DATABASE: Final = "default_database"


@dataclass(frozen=True, slots=True)
class FoundTable:
    path: ObjectPath
    table: CatalogTable
    temporary: bool


class CatalogManager:
    """:param builtin: SQL name in upper case -> the built-in function, or None.
    :param builtin_names: all of them, for near names and SHOW FUNCTIONS."""

    def __init__(
        self,
        *,
        catalog: str = DEFAULT_CATALOG,
        database: str = DEFAULT_DATABASE,
        builtin: Callable[[str], FunctionDefinition | None] = lambda name: None,
        builtin_names: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._catalogs: dict[str, Catalog] = {catalog: MemoryCatalog(catalog, database)}
        self.current_catalog = catalog
        self.current_database = database
        self._builtin = builtin
        self._builtin_names = builtin_names
        self._temporary_tables: dict[ObjectPath, CatalogTable] = {}
        self._temporary_functions: dict[ObjectPath, CatalogFunction] = {}
        self._temporary_system_functions: dict[str, CatalogFunction] = {}
        self._temporary_models: dict[ObjectPath, CatalogModel] = {}
        self._modules = ["core"]

    # ---- catalogs and databases

    def register_catalog(self, name: str, catalog: Catalog) -> None:
        if name in self._catalogs:
            raise CatalogError(f"Catalog {name} already exists.")
        catalog.open()
        self._catalogs[name] = catalog

    def unregister_catalog(self, name: str, ignore_if_not_exists: bool = False) -> None:
        catalog = self._catalogs.get(name)
        if catalog is None:
            if ignore_if_not_exists:
                return
            raise self._no_catalog(name)
        if name == self.current_catalog:
            raise CatalogError(
                "Cannot drop a catalog which is currently in use.", hint="USE CATALOG another one"
            )
        catalog.close()
        del self._catalogs[name]

    def catalog(self, name: str) -> Catalog:
        """:raises CatalogError: there is none."""
        if name not in self._catalogs:
            raise self._no_catalog(name)
        return self._catalogs[name]

    def find_catalog(self, name: str) -> Catalog | None:
        return self._catalogs.get(name)

    def list_catalogs(self) -> list[str]:
        return sorted(self._catalogs)

    def _no_catalog(self, name: str) -> CatalogError:
        known = ", ".join(self.list_catalogs())
        return CatalogError(f"A catalog with name [{name}] does not exist.", detail=f"known are {known}")

    def use_catalog(self, name: str) -> None:
        if name != self.current_catalog:
            self.current_database = self.catalog(name).default_database
            self.current_catalog = name

    def use_database(self, name: str, catalog: str | None = None) -> None:
        home = catalog or self.current_catalog
        if not self.catalog(home).database_exists(name):
            raise DatabaseNotFoundError(
                f"A database with name [{name}] does not exist in the catalog: [{home}]."
            )
        self.current_catalog, self.current_database = home, name

    # ---- paths

    def path(self, parts: Sequence[str]) -> ObjectPath:
        """The full path of a name of one to three parts."""
        if len(parts) == 1:
            return ObjectPath(self.current_catalog, self.current_database, parts[0])
        if len(parts) == 2:
            return ObjectPath(self.current_catalog, parts[0], parts[1])
        if len(parts) == 3:
            return ObjectPath(*parts)
        raise CatalogError(f"A name has at most three parts, and {'.'.join(parts)!r} has {len(parts)}.")

    # ---- tables

    def find_table(self, parts: Sequence[str]) -> FoundTable | None:
        """A temporary table or view, else one of the catalog."""
        if not 1 <= len(parts) <= 3:
            return None
        path = self.path(parts)
        temporary = self._temporary_tables.get(path)
        if temporary is not None:
            return FoundTable(path, temporary, temporary=True)
        catalog = self._catalogs.get(path.catalog)
        if catalog is None or not catalog.table_exists(path.database, path.name):
            return None
        return FoundTable(path, catalog.get_table(path.database, path.name), temporary=False)

    def create_table(self, path: ObjectPath, table: CatalogTable, ignore_if_exists: bool = False) -> None:
        self._home(path).create_table(path.database, path.name, table, ignore_if_exists)

    def create_temporary_table(
        self, path: ObjectPath, table: CatalogTable, ignore_if_exists: bool = False
    ) -> None:
        if path not in self._temporary_tables:
            self._temporary_tables[path] = table
        elif not ignore_if_exists:
            raise ObjectExistsError(f"Temporary table '{path}' already exists")

    def replace_temporary_table(self, path: ObjectPath, table: CatalogTable) -> None:
        self._temporary_tables[path] = table

    def drop_table(self, path: ObjectPath, ignore_if_not_exists: bool, *, view: bool = False) -> None:
        what = "View" if view else "Table"
        if path in self._temporary_tables:
            kind = "view" if view else "table"
            raise CatalogError(
                f"Temporary {kind} with identifier '{path}' exists. Drop it first before removing the "
                f"permanent {kind}."
            )
        found = self.find_table(path.parts)
        if found is None or (found.table.kind is TableKind.VIEW) is not view:
            if not ignore_if_not_exists:
                raise ObjectNotFoundError(f"{what} with identifier '{path.summary()}' does not exist.")
            return
        self._home(path).drop_table(path.database, path.name, ignore_if_not_exists)

    def drop_temporary_table(
        self, path: ObjectPath, ignore_if_not_exists: bool, *, view: bool = False
    ) -> bool:
        """Whether there was one."""
        table = self._temporary_tables.get(path)
        if table is None or (table.kind is TableKind.VIEW) is not view:
            if not ignore_if_not_exists:
                what = "view" if view else "table"
                raise ObjectNotFoundError(
                    f"Temporary {what} with identifier '{path.summary()}' does not exist."
                )
            return False
        del self._temporary_tables[path]
        return True

    def alter_table(self, path: ObjectPath, table: CatalogTable, ignore_if_not_exists: bool = False) -> None:
        if path in self._temporary_tables:
            self._temporary_tables[path] = table
        else:
            self._home(path).alter_table(path.database, path.name, table, ignore_if_not_exists)

    def rename_table(self, path: ObjectPath, new_name: str, ignore_if_not_exists: bool = False) -> None:
        self._home(path).rename_table(path.database, path.name, new_name, ignore_if_not_exists)

    def statistics_of(self, table: ResolvedTable) -> TableStatistics | None:
        """What is known of a table that a query reads."""
        if table.path is None or table.temporary:
            return None
        catalog = self.find_catalog(table.path.catalog)
        if not isinstance(catalog, KeepsStatistics):
            return None
        return catalog.get_statistics(table.path.database, table.path.name)

    def _home(self, path: ObjectPath) -> Catalog:
        catalog = self.catalog(path.catalog)
        if not catalog.database_exists(path.database):
            raise DatabaseNotFoundError(f"Database {path.database} does not exist in Catalog {path.catalog}.")
        return catalog

    def list_tables(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """Tables and views of a database, temporary ones too, in order."""
        catalog, database = catalog or self.current_catalog, database or self.current_database
        names = set(self.list_temporary(catalog, database))
        home = self._catalogs.get(catalog)
        if home is not None and home.database_exists(database):
            names.update(home.list_tables(database))
        return sorted(names)

    def list_views(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        catalog, database = catalog or self.current_catalog, database or self.current_database
        names = {
            p.name
            for p, table in self._temporary_tables.items()
            if (p.catalog, p.database) == (catalog, database) and table.kind is TableKind.VIEW
        }
        home = self._catalogs.get(catalog)
        if home is not None and home.database_exists(database):
            names.update(home.list_views(database))
        return sorted(names)

    def list_temporary(
        self, catalog: str | None = None, database: str | None = None, *, views: bool | None = None
    ) -> list[str]:
        """Temporary tables and views. :param views: True: views only; False: tables only."""
        home = (catalog or self.current_catalog, database or self.current_database)
        return sorted(
            p.name
            for p, table in self._temporary_tables.items()
            if (p.catalog, p.database) == home and (views is None or (table.kind is TableKind.VIEW) is views)
        )

    # ---- functions

    def find_function(self, parts: Sequence[str]) -> FunctionDefinition | None:
        """What a call means: for a bare name a temporary system function, a built-in one, a temporary one,
        one of the catalog; for a path the last two."""
        if len(parts) == 1:
            name = parts[0]
            system = self._temporary_system_functions.get(name.lower())
            if system is not None:
                return system.definition
            builtin = self._builtin(name.upper()) if "core" in self._modules else None
            if builtin is not None:
                return builtin
        found = self._find_catalog_function(parts)
        return None if found is None else found.definition

    def _find_catalog_function(self, parts: Sequence[str]) -> CatalogFunction | None:
        if not 1 <= len(parts) <= 3:
            return None
        path = self._function_path(self.path(parts))
        temporary = self._temporary_functions.get(path)
        if temporary is not None:
            return temporary
        catalog = self._catalogs.get(path.catalog)
        if catalog is None or not catalog.function_exists(path.database, path.name):
            return None
        return catalog.get_function(path.database, path.name)

    def find_permanent_function(self, parts: Sequence[str]) -> CatalogFunction | None:
        """A function of a catalog that no temporary or built-in one hides."""
        if len(parts) == 1:
            name = parts[0]
            hidden = "core" in self._modules and self._builtin(name.upper()) is not None
            if hidden or name.lower() in self._temporary_system_functions:
                return None
        found = self._find_catalog_function(parts)
        temporary = self._function_path(self.path(parts)) in self._temporary_functions
        return None if temporary else found

    @staticmethod
    def _function_path(path: ObjectPath) -> ObjectPath:
        return ObjectPath(path.catalog, path.database, path.name.lower())

    def create_temporary_system_function(
        self, name: str, function: CatalogFunction, ignore_if_exists: bool = False
    ) -> None:
        if name.lower() not in self._temporary_system_functions:
            self._temporary_system_functions[name.lower()] = function
        elif not ignore_if_exists:
            raise ObjectExistsError(
                f"Could not register temporary system function. A function named '{name}' does already exist."
            )

    def drop_temporary_system_function(self, name: str, ignore_if_not_exists: bool = False) -> bool:
        """Whether there was one."""
        if self._temporary_system_functions.pop(name.lower(), None) is not None:
            return True
        if not ignore_if_not_exists:
            raise ObjectNotFoundError(
                f"Could not drop temporary system function. A function named '{name}' doesn't exist."
            )
        return False

    def create_temporary_function(
        self, path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool = False
    ) -> None:
        key = self._function_path(path)
        if key not in self._temporary_functions:
            self._temporary_functions[key] = function
        elif not ignore_if_exists:
            raise ObjectExistsError(
                f"Could not register temporary function. A function '{path.summary()}' does already exist."
            )

    def drop_temporary_function(self, path: ObjectPath, ignore_if_not_exists: bool = False) -> bool:
        if self._temporary_functions.pop(self._function_path(path), None) is not None:
            return True
        if not ignore_if_not_exists:
            raise ObjectNotFoundError(f"Temporary function {path.summary()} doesn't exist")
        return False

    def list_user_functions(self) -> list[str]:
        """Functions of users that a bare name finds now, in order."""
        here = (self.current_catalog, self.current_database)
        names = set(self._temporary_system_functions)
        names.update(p.name for p in self._temporary_functions if (p.catalog, p.database) == here)
        catalog = self._catalogs[self.current_catalog]
        if catalog.database_exists(self.current_database):
            names.update(catalog.list_functions(self.current_database))
        return sorted(names)

    def function_names(self) -> list[str]:
        """All names that a call may have here, for near names."""
        return [*self._builtin_names(), *self.list_user_functions()]

    # ---- models

    def create_temporary_model(
        self, path: ObjectPath, model: CatalogModel, ignore_if_exists: bool = False
    ) -> None:
        if path not in self._temporary_models:
            self._temporary_models[path] = model
        elif not ignore_if_exists:
            raise ObjectExistsError(f"Temporary model '{path}' already exists")

    def drop_temporary_model(self, path: ObjectPath, ignore_if_not_exists: bool = False) -> bool:
        if self._temporary_models.pop(path, None) is not None:
            return True
        if not ignore_if_not_exists:
            raise ObjectNotFoundError(f"Temporary model with identifier '{path.summary()}' does not exist.")
        return False

    def find_model(self, path: ObjectPath) -> tuple[CatalogModel, bool] | None:
        """A model, and whether it is a temporary one."""
        temporary = self._temporary_models.get(path)
        if temporary is not None:
            return temporary, True
        catalog = self._catalogs.get(path.catalog)
        if catalog is None or not catalog.model_exists(path.database, path.name):
            return None
        return catalog.get_model(path.database, path.name), False

    # ---- modules

    def list_modules(self) -> list[str]:
        """The modules whose functions are found, in the order of use."""
        return list(self._modules)

    def load_module(self, name: str) -> None:
        if name in self._modules:
            raise CatalogError(f"A module with name '{name}' already exists")
        if name != "core":
            raise CatalogError(f"Could not find any module {name!r}.", detail="the one module is 'core'")
        self._modules.append(name)

    def unload_module(self, name: str) -> None:
        if name not in self._modules:
            raise CatalogError(f"No module with name '{name}' exists")
        self._modules.remove(name)

    def use_modules(self, names: Sequence[str]) -> None:
        unknown = [n for n in names if n not in ("core",)]
        if unknown:
            raise CatalogError(f"No module with name '{unknown[0]}' exists")
        twice = [n for i, n in enumerate(names) if n in names[:i]]
        if twice:
            raise CatalogError(f"Module '{twice[0]}' appears more than once")
        self._modules = list(names)
