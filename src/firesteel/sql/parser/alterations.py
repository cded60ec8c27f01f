"""ALTER."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.definitions import DefinitionParser, TableBody

__all__ = ["AlterParser"]


class AlterParser(DefinitionParser):
    def alter(self) -> s.Statement:
        self.expect("ALTER")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        if temporary or self.at("FUNCTION"):
            return self._alter_function(temporary, system)
        if self.at("MATERIALIZED") or self.at("CONNECTION"):
            raise UnsupportedFeatureError(f"ALTER {self.token.upper} is not supported.")
        word = self.expect_any("TABLE", "VIEW", "DATABASE", "CATALOG", "MODEL")
        return _ALTER[word](self)

    # ---- tables

    def _alter_table(self) -> s.AlterTable:
        if_exists = self.take("IF", "EXISTS")
        path = self.path()
        return s.AlterTable(path, self._table_action(), if_exists)

    def _table_action(self) -> s.TableAction:
        if self.take("RENAME"):
            if self.take("TO"):
                return s.RenameTo(self.path())
            name = self.path()
            self.expect("TO")
            return s.RenameColumn(name, self.name())
        if self.take("SET"):
            return s.SetOptions(self.options())
        if self.take("RESET"):
            return s.ResetOptions(self.keys())
        if self.take("ADD"):
            return self._add()
        if self.take("MODIFY"):
            return s.ModifyColumns(**self._elements())
        if self.take("DROP"):
            return self._drop()
        return self.refuse(expected="RENAME, SET, RESET, ADD, MODIFY or DROP")

    def _add(self) -> s.TableAction:
        if_not_exists = self.take("IF", "NOT", "EXISTS")
        if if_not_exists or self.at("PARTITION", "("):
            partitions: list[tuple[s.Options, s.Options]] = []
            while self.at("PARTITION", "("):
                spec = self.full_partition()
                partitions.append((spec, self.with_options()))
            if not partitions:
                self.refuse(expected="PARTITION")
            return s.AddPartitions(tuple(partitions), if_not_exists)
        return s.AddColumns(**self._elements())

    def _elements(self) -> dict[str, Any]:
        """What follows ADD and MODIFY: one element or several in parentheses, or a distribution."""
        if self.take("DISTRIBUTION"):
            return {"distribution": self.distribution()}
        body = TableBody()
        if self.at("("):
            body = self.table_body(positions=True)
        else:
            self.element(body, positions=True)
        return {
            "columns": tuple(body.columns),
            "positions": tuple(body.positions),
            "watermark": body.watermark,
            "primary_key": body.primary_key,
        }

    def _drop(self) -> s.TableAction:
        if_exists = self.take("IF", "EXISTS")
        if if_exists or self.at("PARTITION", "("):
            partitions = self.comma_list(self.full_partition)
            return s.DropPartitions(tuple(partitions), if_exists)
        if self.take("PRIMARY", "KEY"):
            return s.DropConstraint("PRIMARY KEY")
        if self.take("CONSTRAINT"):
            return s.DropConstraint("CONSTRAINT", self.name())
        if self.take("WATERMARK"):
            return s.DropConstraint("WATERMARK")
        if self.take("DISTRIBUTION"):
            return s.DropConstraint("DISTRIBUTION")
        if self.at("("):
            names = self.in_parentheses(lambda: self.comma_list(self.path))
            return s.DropColumns(tuple(".".join(n) for n in names))
        return s.DropColumns((".".join(self.path()),))

    # ---- the others

    def _alter_view(self) -> s.AlterView:
        path = self.path()
        if self.take("RENAME", "TO"):
            return s.AlterView(path, s.RenameTo(self.path()))
        self.expect("AS")
        return s.AlterView(path, self.query_with_text())

    def _alter_database(self) -> s.AlterDatabase:
        path = self.path()
        self.expect("SET")
        return s.AlterDatabase(path, self.options())

    def _alter_catalog(self) -> s.AlterCatalog:
        name = self.name()
        if self.take("SET"):
            return s.AlterCatalog(name, s.SetOptions(self.options()))
        if self.take("RESET"):
            return s.AlterCatalog(name, s.ResetOptions(self.keys()))
        self.expect("COMMENT")
        return s.AlterCatalog(name, s.SetComment(self.string()))

    def _alter_model(self) -> s.AlterModel:
        if_exists = self.take("IF", "EXISTS")
        path = self.path()
        if self.take("RENAME", "TO"):
            return s.AlterModel(path, s.RenameTo(self.path()), if_exists)
        if self.take("RESET"):
            return s.AlterModel(path, s.ResetOptions(self.keys()), if_exists)
        self.expect("SET")
        return s.AlterModel(path, s.SetOptions(self.options()), if_exists)

    def _alter_function(self, temporary: bool, system: bool) -> s.AlterFunction:
        self.expect("FUNCTION")
        if_exists = self.take("IF", "EXISTS")
        path = self.path()
        self.expect("AS")
        class_name = self.string()
        language = "JAVA"
        if self.take("LANGUAGE"):
            language = self.expect_any("JAVA", "SCALA", "SQL", "PYTHON")
        return s.AlterFunction(path, class_name, language, temporary, system, if_exists)


_ALTER: Final[dict[str, Callable[[Any], s.Statement]]] = {
    "TABLE": AlterParser._alter_table,
    "VIEW": AlterParser._alter_view,
    "DATABASE": AlterParser._alter_database,
    "CATALOG": AlterParser._alter_catalog,
    "MODEL": AlterParser._alter_model,
}
