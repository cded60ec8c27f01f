"""The methods of table environments that are about catalogs, functions, modules and models."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.datastream.data_stream import DataStream
from firesteel.sql.catalog import ObjectExistsError, TableKind
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table._session import Session
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.util.exceptions import TableAlreadyExistException, TableNotExistException

__all__ = ["CatalogMethods"]


class CatalogMethods:
    """Catalogs and databases, tables and views by their names, functions, modules, models."""

    _session: Session

    def _parts(self, path: str) -> tuple[str, ...]:
        """The parts of a path; backticks quote them."""
        from firesteel.sql.parser.dialect import FLINK
        from firesteel.sql.parser.tokens import END, tokenize

        if not isinstance(path, str) or not path:
            raise ProgramError("The path of an object is a text.", detail=f"got {path!r}")
        if "`" not in path:
            return tuple(path.split("."))
        tokens = [t for t in tokenize(path, FLINK.tokenizer()) if t.kind != END]
        return tuple(t.text.strip("`") for t in tokens if t.text != ".")

    def _no_table(self, path: str) -> TableNotExistException:
        catalogs = self._session.catalogs
        full = catalogs.path(self._parts(path))
        known = catalogs.list_tables() if catalogs.current_catalog == full.catalog else []
        from firesteel.sql.binder.errors import near

        return TableNotExistException(
            f"Table {full} was not found.",
            detail=f"tables: {', '.join(known) or 'none'}",
            hint=near(full.name, known),
        )

    # ---- catalogs and databases

    def create_catalog(self, catalog_name: str, catalog_descriptor: Any) -> None:
        """Make a catalog of a descriptor's options."""
        from firesteel.sql.connectors.catalogs import make_catalog

        options = dict(catalog_descriptor._options)
        made = make_catalog(catalog_name, options, self._session.environment)
        self._session.catalogs.register_catalog(catalog_name, made)
        self._session.catalog_options[catalog_name] = (options, catalog_descriptor._comment or "")

    def register_catalog(self, catalog_name: str, catalog: Any) -> None:
        """Add a catalog under a name."""
        found = getattr(catalog, "_catalog", catalog)
        self._session.catalogs.register_catalog(catalog_name, found)

    def get_catalog(self, catalog_name: str) -> Any:
        """The catalog of a name; None: there is none."""
        from firesteel.table.catalog import Catalog

        found = self._session.catalogs.find_catalog(catalog_name)
        return None if found is None else Catalog(found)

    def list_catalogs(self) -> list[str]:
        return self._session.catalogs.list_catalogs()

    def list_databases(self) -> list[str]:
        """The databases of the current catalog."""
        catalogs = self._session.catalogs
        return catalogs.catalog(catalogs.current_catalog).list_databases()

    def get_current_catalog(self) -> str:
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one, and its default database."""
        self._session.catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self._session.catalogs.use_database(database_name)

    # ---- tables and views

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False
    ) -> None:
        """Give a table a name in this session. Its options are checked when it is used."""
        self._create(path, descriptor, bool(ignoreIfExists), temporary=True)

    def create_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool | None = False
    ) -> None:
        """Give a table a name in the catalog."""
        self._create(path, descriptor, bool(ignoreIfExists), temporary=False)

    def _create(self, path: str, descriptor: Any, ignore: bool, temporary: bool) -> None:
        from firesteel.sql.binder.tables import resolve_schema

        if not isinstance(descriptor, TableDescriptor):
            raise ProgramError("Not a TableDescriptor.", detail=f"got {descriptor!r}")
        if descriptor.get_schema() is None:
            raise SqlValidationError(
                "Missing schema in TableDescriptor.", hint=".schema(Schema.new_builder()...build())"
            )
        table = descriptor._catalog_table()
        resolve_schema(self._session.binder(), table.schema)
        catalogs = self._session.catalogs
        full = catalogs.path(self._parts(path))
        create = catalogs.create_temporary_table if temporary else catalogs.create_table
        try:
            create(full, table, ignore)
        except ObjectExistsError as e:
            raise TableAlreadyExistException(e.message, detail=e.detail, hint=e.hint) from None

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """Give a table, or a stream, a name in this session."""
        from firesteel.table.table_environment import StreamTableEnvironment, _require_table, _view

        found = table_or_data_stream
        if isinstance(found, DataStream):
            if not isinstance(self, StreamTableEnvironment):
                raise ProgramError("A stream becomes a view of a StreamTableEnvironment.")
            found = self.from_data_stream(found, *fields_or_schema)
        path = self._session.catalogs.path(self._parts(view_path))
        self._session.catalogs.create_temporary_table(path, _view(_require_table(found)))

    def create_view(self, view_path: str, table: Any, ignore_if_exists: bool = False) -> bool:
        """Give a table a name in the catalog of this session; whether it was created."""
        from firesteel.table.table_environment import _require_table, _view

        catalogs = self._session.catalogs
        path = catalogs.path(self._parts(view_path))
        there = catalogs.find_table(path.parts) is not None
        catalogs.create_table(path, _view(_require_table(table)), ignore_if_exists)
        return not there

    def list_tables(self) -> list[str]:
        """Tables and views of the current database, and the temporary ones."""
        return self._session.catalogs.list_tables()

    def list_views(self) -> list[str]:
        return self._session.catalogs.list_views()

    def list_materialized_tables(self) -> list[str]:
        """There are none."""
        return []

    def list_temporary_tables(self) -> list[str]:
        return [p.name for p in self._temporary(TableKind.TABLE)]

    def list_temporary_views(self) -> list[str]:
        return [p.name for p in self._temporary(TableKind.VIEW)]

    def _temporary(self, kind: TableKind) -> list[Any]:
        catalogs = self._session.catalogs
        found = catalogs._temporary_tables
        home = (catalogs.current_catalog, catalogs.current_database)
        return sorted(
            p for p, table in found.items() if table.kind is kind and (p.catalog, p.database) == home
        )

    def drop_temporary_table(self, table_path: str) -> bool:
        """Whether there was one."""
        return self._drop_temporary(table_path, TableKind.TABLE)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Whether there was one."""
        return self._drop_temporary(view_path, TableKind.VIEW)

    def _drop_temporary(self, name: str, kind: TableKind) -> bool:
        catalogs = self._session.catalogs
        path = catalogs.path(self._parts(name))
        found = catalogs._temporary_tables.get(path)
        if found is None or found.kind is not kind:
            return False
        del catalogs._temporary_tables[path]
        return True

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Remove a table of the catalog; whether there was one."""
        return self._drop(table_path, bool(ignore_if_not_exists), view=False)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Remove a view of the catalog; whether there was one."""
        return self._drop(view_path, bool(ignore_if_not_exists), view=True)

    def _drop(self, name: str, ignore: bool, view: bool) -> bool:
        catalogs = self._session.catalogs
        path = catalogs.path(self._parts(name))
        home = catalogs.find_catalog(path.catalog)
        there = home is not None and home.table_exists(path.database, path.name)
        catalogs.drop_table(path, ignore, view=view)
        return there

    # ---- functions

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Give a function of the user a name that hides a built-in one."""
        made = self._function(function, name)
        self._session.catalogs.create_temporary_system_function(name, made)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Give a function of the user a name in this session."""
        catalogs = self._session.catalogs
        full = catalogs.path(self._parts(path))
        catalogs.create_temporary_function(full, self._function(function, full.name))

    def _function(self, function: Any, name: str) -> Any:
        from firesteel.table.udf import wrapped

        return wrapped(function)._catalog_function(name)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Whether there was one."""
        return self._session.catalogs.drop_temporary_system_function(name, True)

    def drop_temporary_function(self, path: str) -> bool:
        """Whether there was one."""
        catalogs = self._session.catalogs
        return catalogs.drop_temporary_function(catalogs.path(self._parts(path)), True)

    def drop_function(self, path: str) -> bool:
        """Remove a function of the catalog; whether there was one."""
        catalogs = self._session.catalogs
        full = catalogs.path(self._parts(path))
        home = catalogs.catalog(full.catalog)
        there = home.function_exists(full.database, full.name.lower())
        home.drop_function(full.database, full.name.lower(), True)
        return there

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        raise _no_java(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        raise _no_java(function_class_name)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        raise _no_java(function_class_name)

    def list_functions(self) -> list[str]:
        return [name.lower() for name in self._session.catalogs.function_names()]

    def list_user_defined_functions(self) -> list[str]:
        return self._session.catalogs.list_user_functions()

    # ---- modules

    def load_module(self, module_name: str, module: Any) -> None:
        """Add a module of functions: there is ``core`` alone."""
        raise UnsupportedFeatureError(
            f"There is no module {module_name!r}.", hint="register its functions one by one"
        )

    def unload_module(self, module_name: str) -> None:
        """Take a module of functions away."""
        self._session.catalogs.unload_module(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Say which modules count, in which order."""
        self._session.catalogs.use_modules(module_names)

    def list_modules(self) -> list[str]:
        return self._session.catalogs.list_modules()

    def list_full_modules(self) -> list[Any]:
        """All modules, and whether they are used."""
        from firesteel.table.module import ModuleEntry

        return [ModuleEntry(name, True) for name in self._session.catalogs.list_modules()]

    # ---- models

    def create_model(self, model_path: str, model_descriptor: Any, ignore_if_exists: bool = False) -> None:
        """Describe a model in the catalog."""
        catalogs = self._session.catalogs
        path = catalogs.path(self._parts(model_path))
        home = catalogs.catalog(path.catalog)
        home.create_model(path.database, path.name, model_descriptor._catalog_model(), ignore_if_exists)

    def create_temporary_model(
        self, model_path: str, model_descriptor: Any, ignore_if_exists: bool = False
    ) -> None:
        """Describe a model in this session."""
        catalogs = self._session.catalogs
        path = catalogs.path(self._parts(model_path))
        catalogs.create_temporary_model(path, model_descriptor._catalog_model(), ignore_if_exists)

    def list_models(self) -> list[str]:
        catalogs = self._session.catalogs
        return catalogs.catalog(catalogs.current_catalog).list_models(catalogs.current_database)

    def list_temporary_models(self) -> list[str]:
        return sorted(p.name for p in self._session.catalogs._temporary_models)

    def drop_model(self, model_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Remove a model of the catalog; whether there was one."""
        catalogs = self._session.catalogs
        path = catalogs.path(self._parts(model_path))
        home = catalogs.catalog(path.catalog)
        there = home.model_exists(path.database, path.name)
        home.drop_model(path.database, path.name, ignore_if_not_exists)
        return there

    def drop_temporary_model(self, model_path: str) -> bool:
        """Whether there was one."""
        catalogs = self._session.catalogs
        return catalogs.drop_temporary_model(catalogs.path(self._parts(model_path)), True)


def _no_java(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "Functions of Java are not available.",
        detail=name,
        hint="write it in Python, and register it with udf",
    )
