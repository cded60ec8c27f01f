"""Statements by their first words: one open table of productions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.sql.parser import statements as s
from firesteel.sql.parser.alterations import AlterParser
from firesteel.sql.parser.creations import CreateParser
from firesteel.sql.parser.dialect import FLINK
from firesteel.sql.parser.errors import SqlParserError
from firesteel.sql.parser.tokens import NAME, NUMBER, STRING, WORD, tokenize

__all__ = ["STATEMENT_WORDS", "StatementParser", "parse_statement"]

_DETAILS: Final = ("ESTIMATED_COST", "CHANGELOG_MODE", "PLAN_ADVICE", "JSON_EXECUTION_PLAN")
_FROM: Final = ("FROM", "IN")


def parse_statement(sql: str) -> s.Statement:
    """The statement of a text; a semicolon may end it.

    :raises SqlParserError: it is none, or there is more than one.
    """
    parser = StatementParser(sql, tokenize(sql, FLINK.tokenizer()))
    if parser.at_end():
        raise SqlParserError("SQL parse failed. The text is empty.", line=1, column=1)
    made = parser.statement()
    parser.take(";")
    if not parser.at_end():
        parser.refuse()
    return made


class StatementParser(CreateParser, AlterParser):
    def statement(self) -> s.Statement:
        if self.token.kind == WORD:
            production = _STATEMENTS.get(self.token.upper)
            if production is not None:
                return production(self)
        if self.at_query() or self.at("("):
            return self.query_with_text()
        return self.refuse(expected="a statement")

    # ---- queries and inserts

    def select(self) -> s.Statement:
        return self.query_with_text()

    def insert(self) -> s.Statement:
        self.expect("INSERT")
        overwrite = self.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
        start = self.token
        path = self.path()
        places = [(start.start, self.previous().end)]
        options: dict[str, str] = {}
        for name, arguments in self.hints(self.previous()) or ():
            if name == "OPTIONS":
                options.update(arguments)
        partition = self.partition() if self.at("PARTITION", "(") else {}
        columns = None
        if self.at("(") and not self.at_query():
            self.expect("(")
            names = []
            for name, place in self.comma_list(self._target_column):
                names.append(name)
                places.append(place)
            columns = tuple(names)
            self.expect(")")
        query = self.query_with_text()
        conflict = None
        if self.take("ON", "CONFLICT", "DO"):
            conflict = self.expect_any("NOTHING", "ERROR", "DEDUPLICATE")
        return s.Insert(path, query, columns, partition, overwrite, conflict, options, tuple(places))

    def _target_column(self) -> tuple[str, tuple[int, int]]:
        start = self.token
        return ".".join(self.path()), (start.start, self.previous().end)

    def statement_set(self) -> s.StatementSet:
        self.expect("STATEMENT", "SET", "BEGIN")
        inserts = []
        while not self.take("END"):
            if not self.at("INSERT"):
                self.refuse(expected="INSERT or END")
            inserts.append(self.insert())
            self.expect(";")
        if not inserts:
            raise SqlParserError("SQL parse failed. A statement set needs at least one INSERT.")
        return s.StatementSet(tuple(inserts))

    def begin(self) -> s.Statement:
        self.expect("BEGIN", "STATEMENT", "SET")
        return s.BeginStatementSet()

    def end(self) -> s.Statement:
        self.expect("END")
        return s.EndStatementSet()

    def execute(self) -> s.Statement:
        self.expect("EXECUTE")
        if self.at("STATEMENT", "SET"):
            return self.statement_set()
        if self.take("PLAN"):
            return s.ExecutePlan(self.string())
        if self.at("INSERT"):
            return self.insert()
        return self.query_with_text()

    def explain(self) -> s.Statement:
        self.expect("EXPLAIN")
        details: tuple[str, ...] = ()
        if self.take("PLAN", "FOR"):
            pass
        elif self.at_any(*_DETAILS):
            details = tuple(self.comma_list(lambda: self.expect_any(*_DETAILS)))
        if self.at("STATEMENT", "SET"):
            return s.Explain(self.statement_set(), details)
        if self.at("EXECUTE"):
            return s.Explain(self.execute(), details)
        if self.at("INSERT"):
            return s.Explain(self.insert(), details)
        if self.at("CREATE") or self.at("REPLACE"):
            return s.Explain(self.create(), details)
        return s.Explain(self.query_with_text(), details)

    def compile(self) -> s.Statement:
        self.expect("COMPILE")
        execute = self.take("AND", "EXECUTE")
        self.expect("PLAN")
        path = self.string()
        if_not_exists = self.take("IF", "NOT", "EXISTS")
        self.expect("FOR")
        statement = self.statement_set() if self.at("STATEMENT", "SET") else self.insert()
        return s.CompilePlan(path, statement, if_not_exists, execute)

    # ---- SHOW

    def show(self) -> s.Statement:
        self.expect("SHOW")
        if self.take("CREATE"):
            what = self.expect_any("TABLE", "VIEW", "CATALOG", "MODEL", "MATERIALIZED")
            if what == "MATERIALIZED":
                self.expect("TABLE")
                what = "MATERIALIZED TABLE"
            return s.Show(f"CREATE {what}", self.path())
        if self.take("CURRENT"):
            return s.Show(f"CURRENT {self.expect_any('CATALOG', 'DATABASE')}")
        if self.take("COLUMNS"):
            self.expect_any(*_FROM)
            return s.Show("COLUMNS", self.path(), self._like())
        if self.take("PARTITIONS"):
            path = self.path()
            partition = self.full_partition() if self.at("PARTITION", "(") else {}
            return s.Show("PARTITIONS", path, partition=partition)
        return self._show_list()

    def _show_list(self) -> s.Show:
        for words in _SHOW_LISTS:
            if self.take(*words):
                path = self.path() if self.take_any(*_FROM) else ()
                return s.Show(" ".join(words), path, self._like())
        return self.refuse(expected="what is to be shown")

    def _like(self) -> s.Pattern | None:
        negated = self.at("NOT") and self.ahead().upper in ("LIKE", "ILIKE")
        if negated:
            self.advance()
        word = self.take_any("LIKE", "ILIKE")
        return None if word is None else s.Pattern(self.string(), negated, word == "ILIKE")

    def describe(self) -> s.Statement:
        self.expect_any("DESCRIBE", "DESC")
        for what in ("CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION"):
            if self.at(what) and self.ahead().kind in (WORD, NAME):
                self.advance()
                extended = self.take("EXTENDED")
                return s.Describe(what, self.path(), extended)
        if self.at("JOB") and self.ahead().kind == STRING:
            self.advance()
            return s.Describe("JOB", (self.string(),))
        extended = self.take("EXTENDED")
        return s.Describe("TABLE", self.path(), extended)

    # ---- USE, SET, modules

    def use(self) -> s.Statement:
        self.expect("USE")
        if self.at("CATALOG") and self.ahead().kind in (WORD, NAME):
            self.advance()
            return s.UseCatalog(self.name())
        if self.take("MODULES"):
            return s.UseModules(tuple(self.comma_list(self.name)))
        return s.UseDatabase(self.path())

    def set_(self) -> s.Statement:
        self.expect("SET")
        if self.at_end() or self.at(";"):
            return s.SetOption()
        key = self._option_word()
        self.expect("=")
        return s.SetOption(key, self._option_word())

    def _option_word(self) -> str:
        """A text; or, as in the SQL client, words without quotes up to a blank."""
        if self.token.kind == STRING:
            return self.string()
        start = self.token
        if start.kind not in (WORD, NAME, NUMBER) and start.text != "-":
            self.refuse(expected="a text in single quotes")
        end = self.advance()
        while not self.at_end() and self.token.start == end.end + 1 and self.token.text not in ("=", ";"):
            end = self.advance()
        return self.sql[start.start : end.end + 1]

    def reset(self) -> s.Statement:
        self.expect("RESET")
        return s.Reset(None if self.at_end() or self.at(";") else self._option_word())

    def load(self) -> s.Statement:
        self.expect("LOAD", "MODULE")
        return s.LoadModule(self.name(), self.with_options())

    def unload(self) -> s.Statement:
        self.expect("UNLOAD", "MODULE")
        return s.UnloadModule(self.name())

    def jar(self) -> s.Statement:
        action = self.expect_any("ADD", "REMOVE")
        self.expect("JAR")
        return s.Jar(action, self.string())

    # ---- rows

    def truncate(self) -> s.Statement:
        self.expect("TRUNCATE", "TABLE")
        return s.Truncate(self.path())

    def delete(self) -> s.Statement:
        self.expect("DELETE", "FROM")
        path = self.path()
        return s.Delete(path, self.expression() if self.take("WHERE") else None)

    def update(self) -> s.Statement:
        self.expect("UPDATE")
        path = self.path()
        self.expect("SET")
        assignments = tuple(self.comma_list(self._assignment))
        return s.Update(path, assignments, self.expression() if self.take("WHERE") else None)

    def _assignment(self) -> tuple[str, Any]:
        name = self.name()
        self.expect("=")
        return name, self.expression()

    def analyze(self) -> s.Statement:
        self.expect("ANALYZE", "TABLE")
        path = self.path()
        partition = self.partition() if self.at("PARTITION", "(") else {}
        self.expect("COMPUTE", "STATISTICS")
        columns: tuple[str, ...] | None = None
        if self.take("FOR"):
            if self.take("ALL", "COLUMNS"):
                columns = ()
            else:
                self.expect("COLUMNS")
                columns = tuple(self.comma_list(self.name))
        return s.AnalyzeTable(path, partition, columns)

    def call_procedure(self) -> s.Statement:
        self.expect("CALL")
        path = self.path()
        self.expect("(")
        arguments = () if self.at(")") else tuple(self.comma_list(self.argument))
        self.expect(")")
        return s.CallProcedure(path, arguments)

    def stop(self) -> s.Statement:
        self.expect("STOP", "JOB")
        job = self.string()
        savepoint = self.take("WITH", "SAVEPOINT")
        drain = self.take("WITH", "DRAIN")
        return s.StopJob(job, savepoint, drain)


_SHOW_LISTS: Final = (
    ("CATALOGS",),
    ("DATABASES",),
    ("TABLES",),
    ("VIEWS",),
    ("MATERIALIZED", "TABLES"),
    ("USER", "FUNCTIONS"),
    ("FUNCTIONS",),
    ("PROCEDURES",),
    ("FULL", "MODULES"),
    ("MODULES",),
    ("MODELS",),
    ("JARS",),
    ("JOBS",),
    ("CONNECTIONS",),
)

_P = StatementParser
_STATEMENTS: Final[dict[str, Callable[[StatementParser], s.Statement]]] = {
    "SELECT": _P.select,
    "WITH": _P.select,
    "VALUES": _P.select,
    "TABLE": _P.select,
    "INSERT": _P.insert,
    "EXECUTE": _P.execute,
    "BEGIN": _P.begin,
    "END": _P.end,
    "EXPLAIN": _P.explain,
    "COMPILE": _P.compile,
    "CREATE": _P.create,
    "REPLACE": _P.create,
    "DROP": _P.drop,
    "ALTER": _P.alter,
    "SHOW": _P.show,
    "DESCRIBE": _P.describe,
    "DESC": _P.describe,
    "USE": _P.use,
    "SET": _P.set_,
    "RESET": _P.reset,
    "LOAD": _P.load,
    "UNLOAD": _P.unload,
    "ADD": _P.jar,
    "REMOVE": _P.jar,
    "TRUNCATE": _P.truncate,
    "DELETE": _P.delete,
    "UPDATE": _P.update,
    "ANALYZE": _P.analyze,
    "CALL": _P.call_procedure,
    "STOP": _P.stop,
}

#: What a statement may begin with.
STATEMENT_WORDS: Final = tuple(_STATEMENTS)
