"""CREATE, REPLACE TABLE and DROP."""

from __future__ import annotations

from typing import Final, NoReturn

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.definitions import DefinitionParser, TableBody
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.sql.parser.tokens import NAME, WORD
from firesteel.sql.schema import DeclaredSchema

__all__ = ["CreateParser"]

_FEATURES: Final = (
    "ALL",
    "CONSTRAINTS",
    "DISTRIBUTION",
    "GENERATED",
    "METADATA",
    "OPTIONS",
    "PARTITIONS",
    "WATERMARKS",
)
_OVERWRITTEN: Final = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")


def _refused(what: str) -> NoReturn:
    raise UnsupportedFeatureError(f"{what} is not supported.")


class CreateParser(DefinitionParser):
    def create(self) -> s.Statement:
        if self.at("REPLACE"):
            self.expect("REPLACE", "TABLE")
            return self._create_table(temporary=False, replace="REPLACE")
        self.expect("CREATE")
        replace = "CREATE OR REPLACE" if self.take("OR", "REPLACE") else ""
        if self.at("OR", "ALTER"):
            _refused("CREATE OR ALTER")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        if replace and not self.at("TABLE"):
            self.refuse(expected="TABLE")
        if self.take("TABLE"):
            return self._create_table(temporary, replace)
        if self.take("VIEW"):
            return self._create_view(temporary)
        if self.take("FUNCTION"):
            return self._create_function(temporary, system)
        if self.take("MODEL"):
            return self._create_model(temporary)
        if not temporary and self.take("CATALOG"):
            return self._create_catalog()
        if not temporary and self.take("DATABASE"):
            return self._create_database()
        if self.at("MATERIALIZED"):
            _refused("A materialized table")
        if self.at("CONNECTION"):
            _refused("CREATE CONNECTION")
        return self.refuse(expected="TABLE, VIEW, FUNCTION, DATABASE, CATALOG or MODEL")

    def if_not_exists(self) -> bool:
        return self.take("IF", "NOT", "EXISTS")

    # ---- tables

    def _create_table(self, temporary: bool, replace: str) -> s.CreateTable:
        if_not_exists = self.if_not_exists()
        path = self.path()
        body = self.table_body(names=True) if self.at("(") else TableBody()
        comment = self.comment()
        distribution = self.distribution() if self.take("DISTRIBUTED") else None
        partition_keys = self.names_in_parentheses() if self.take("PARTITIONED", "BY") else ()
        options = self.with_options()
        like = self._like_clause() if self.take("LIKE") else None
        query = self.query_with_text() if self.take("AS") else None
        if body.names and query is None:
            self.refuse(expected="AS with a query, or a type for each column")
        if replace and query is None:
            self.refuse(expected="AS with a query")
        return s.CreateTable(
            path=path,
            schema=body.schema(),
            options=options,
            partition_keys=partition_keys,
            distribution=distribution,
            comment=comment,
            temporary=temporary,
            if_not_exists=if_not_exists,
            like=like,
            query=query,
            replace=replace,
            names=tuple(body.names),
        )

    def _like_clause(self) -> s.LikeClause:
        path = self.path()
        options: dict[str, str] = {}
        if self.take("("):
            while self.at_any("INCLUDING", "EXCLUDING", "OVERWRITING"):
                merge = self.advance().upper
                feature = self.expect_any(*_FEATURES)
                if merge == "OVERWRITING" and feature not in _OVERWRITTEN:
                    raise SqlValidationError(
                        f"Illegal merging strategy 'OVERWRITING' for '{feature}' option."
                    )
                if feature in options:
                    raise SqlValidationError("Each like option feature can be declared only once.")
                options[feature] = merge
                self.take(",")
            self.expect(")")
        return s.LikeClause(path, options)

    # ---- views, functions, models

    def _create_view(self, temporary: bool) -> s.CreateView:
        if_not_exists = self.if_not_exists()
        path = self.path()
        columns: list[str] = []
        comments: list[str | None] = []
        if self.take("("):
            for name, comment in self.comma_list(self._view_column):
                columns.append(name)
                comments.append(comment)
            self.expect(")")
        comment_text = self.comment()
        if self.at("WITH") and self.ahead().text == "(":
            self.refuse(expected="AS")
        self.expect("AS")
        query = self.query_with_text()
        return s.CreateView(
            path, query, tuple(columns), tuple(comments), comment_text, temporary, if_not_exists
        )

    def _view_column(self) -> tuple[str, str | None]:
        return self.name(), self._comment()

    def _create_function(self, temporary: bool, system: bool) -> s.CreateFunction:
        if_not_exists = self.if_not_exists()
        path = self.path()
        self.expect("AS")
        class_name = self.string()
        language = self.language()
        resources: list[tuple[str, str]] = []
        if self.take("USING"):
            resources = self.comma_list(self._resource)
        options = self.with_options()
        return s.CreateFunction(
            path, class_name, language, temporary, system, if_not_exists, tuple(resources), options
        )

    def language(self) -> str:
        return self.expect_any("JAVA", "SCALA", "SQL", "PYTHON") if self.take("LANGUAGE") else "JAVA"

    def _resource(self) -> tuple[str, str]:
        kind = self.expect_any("JAR", "FILE", "ARCHIVE", "ARTIFACT")
        return kind, self.string()

    def _create_model(self, temporary: bool) -> s.CreateModel:
        if_not_exists = self.if_not_exists()
        path = self.path()
        inputs = self.table_body().schema() if self.take("INPUT") else DeclaredSchema()
        outputs = self.table_body().schema() if self.take("OUTPUT") else DeclaredSchema()
        comment = self.comment()
        options = self.with_options()
        if self.at("AS"):
            _refused("CREATE MODEL AS")
        return s.CreateModel(path, inputs, outputs, options, comment, temporary, if_not_exists)

    # ---- catalogs, databases

    def _create_catalog(self) -> s.CreateCatalog:
        if_not_exists = self.if_not_exists()
        name = self.name()
        comment = self.comment()
        return s.CreateCatalog(name, self.with_options(), comment, if_not_exists)

    def _create_database(self) -> s.CreateDatabase:
        if_not_exists = self.if_not_exists()
        path = self.path()
        comment = self.comment()
        return s.CreateDatabase(path, self.with_options(), comment, if_not_exists)

    # ---- DROP

    def drop(self) -> s.Statement:
        self.expect("DROP")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        if self.at("MATERIALIZED"):
            _refused("A materialized table")
        if self.at("CONNECTION") and self.ahead().kind in (WORD, NAME):
            _refused("DROP CONNECTION")
        allowed = ("FUNCTION",) if system else ("TABLE", "VIEW", "FUNCTION", "MODEL")
        if not temporary:
            allowed = (*allowed, "CATALOG", "DATABASE")
        what = self.expect_any(*allowed)
        if_exists = self.take("IF", "EXISTS")
        path = (self.name(),) if what == "CATALOG" else self.path()
        cascade = False
        if what == "DATABASE":
            cascade = self.take_any("RESTRICT", "CASCADE") == "CASCADE"
        return s.Drop(what, path, if_exists, temporary, system, cascade)
