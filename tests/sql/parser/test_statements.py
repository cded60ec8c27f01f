"""Every kind of statement is read, as data; what Flink refuses is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.sql.parser import statements as s
from firesteel.sql.parser.errors import SqlParserError
from firesteel.sql.parser.scripts import split_script
from firesteel.sql.parser.statement_parser import parse_statement
from firesteel.sql.schema import ColumnKind, DeclaredColumn, Distribution, PrimaryKey

TEXTS = [line.rstrip(";") for line in Path(__file__).with_name("statements.sql").read_text().splitlines()]


@pytest.mark.row("S-SQL-02")
@pytest.mark.parametrize("sql", TEXTS, ids=lambda sql: sql[:50])
def test_is_read(sql: str) -> None:
    statement = parse_statement(sql)
    assert type(statement).__module__ == s.__name__
    assert parse_statement(f"  {sql.replace(' ', chr(10), 1)} ; -- end") is not None


def test_kinds_of_all() -> None:
    found = {type(parse_statement(sql)).__name__ for sql in TEXTS}
    actions = {type(a).__name__ for a in (getattr(parse_statement(q), "action", None) for q in TEXTS) if a}
    parts = {"LikeClause", "Path", "Pattern", "Statement"}
    assert set(s.__all__) - parts <= found | actions


@pytest.mark.row("S-SQL-05", "S-SQL-06", "S-SQL-07")
def test_create_table() -> None:
    statement = parse_statement(
        """CREATE TEMPORARY TABLE IF NOT EXISTS c.d.t (
             a INT NOT NULL COMMENT 'x', b AS a * 2, k STRING METADATA FROM 'key' VIRTUAL, ts TIMESTAMP(3),
             WATERMARK FOR ts AS ts - INTERVAL '10' SECOND, CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED
           ) COMMENT 'all' DISTRIBUTED BY HASH(a) INTO 4 BUCKETS PARTITIONED BY (a)
           WITH ('connector' = 'x', 'p' = 'it''s') LIKE o (INCLUDING ALL, OVERWRITING OPTIONS)"""
    )
    assert isinstance(statement, s.CreateTable)
    assert statement.path == ("c", "d", "t")
    assert statement.temporary
    assert statement.if_not_exists
    a, b, k, ts = statement.schema.columns
    assert a == DeclaredColumn("a", data_type="INT NOT NULL", comment="x")
    assert (b.kind, b.expression) == (ColumnKind.COMPUTED, "`a` * 2")
    assert (k.kind, k.metadata_key, k.virtual) == (ColumnKind.METADATA, "key", True)
    assert ts.data_type == "TIMESTAMP(3)"
    assert statement.schema.watermarks[0].expression == "`ts` - INTERVAL '10' SECOND"
    assert statement.schema.primary_key == PrimaryKey(("a",), "pk")
    assert statement.distribution == Distribution("HASH", 4, ("a",))
    assert str(statement.distribution) == "DISTRIBUTED BY HASH(`a`) INTO 4 BUCKETS"
    assert statement.options == {"connector": "x", "p": "it's"}
    assert statement.like == s.LikeClause(("o",), {"ALL": "INCLUDING", "OPTIONS": "OVERWRITING"})


def test_insert() -> None:
    statement = parse_statement(
        "INSERT OVERWRITE a.b PARTITION (dt = '1', h) (x, y) SELECT 1, 2 ON CONFLICT DO DEDUPLICATE"
    )
    assert isinstance(statement, s.Insert)
    assert statement.partition == {"dt": "1", "h": None}
    assert statement.columns == ("x", "y")
    assert statement.overwrite
    assert statement.on_conflict == "DEDUPLICATE"
    assert statement.query.text == "SELECT 1, 2"


@pytest.mark.row("S-SQL-15")
def test_set_and_reset() -> None:
    assert parse_statement("SET 'a.b' = 'c d'") == s.SetOption("a.b", "c d")
    assert parse_statement("SET table.exec.mini-batch.size = 5000;") == s.SetOption(
        "table.exec.mini-batch.size", "5000"
    )
    assert parse_statement("SET") == s.SetOption()
    assert parse_statement("RESET 'a'") == s.Reset("a")


def test_explain_and_sets() -> None:
    text = (
        "EXPLAIN CHANGELOG_MODE, ESTIMATED_COST STATEMENT SET BEGIN INSERT INTO a "
        "SELECT 1; INSERT INTO b SELECT 2; END"
    )
    statement = parse_statement(text)
    assert isinstance(statement, s.Explain)
    assert statement.details == ("CHANGELOG_MODE", "ESTIMATED_COST")
    assert [i.path for i in statement.statement.inserts] == [("a",), ("b",)]


def test_scripts() -> None:
    parts = split_script(
        "SELECT 1; -- a ; comment\nSELECT ';', `;` /* ; */ ;\nEXECUTE STATEMENT SET BEGIN\n"
        "INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM t; INSERT INTO b SELECT 2;\nEND;\nSHOW TABLES"
    )
    assert [(p.text.split("\n")[0], p.line, p.complete) for p in parts] == [
        ("SELECT 1", 1, True),
        ("SELECT ';', `;`", 2, True),
        ("EXECUTE STATEMENT SET BEGIN", 3, True),
        ("SHOW TABLES", 6, False),
    ]
    assert parts[2].text.endswith("END")
    assert [type(parse_statement(p.text)) for p in parts] == [s.Query, s.Query, s.StatementSet, s.Show]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "The text is empty"),
        ("SELECT FROM t", "Incorrect syntax near the keyword 'FROM' at line 1, column 8"),
        ("SELECT a FROM t LIMIT 1, 2", "'LIMIT start, count' is not allowed"),
        ("SELECT a FROM t LIMIT 'a'", "Encountered \"'a'\" at line 1, column 23"),
        ('SELECT "a"', 'Lexical error at line 1, column 8.  Encountered: """'),
        ("SELECT a FROM t; SELECT b", "near the keyword 'SELECT' at line 1, column 18"),
        ("SELEC a", 'Encountered "SELEC" at line 1, column 1'),
        ("SELECT * FROM t LEFT SEMI JOIN s ON TRUE", "near the keyword 'LEFT' at line 1, column 17"),
        ("SELECT a AS b c FROM t", 'Encountered "c" at line 1, column 15'),
        ("SELECT CASE a END", 'Encountered "END" at line 1, column 15'),
        ("SELECT CAST(a INT)", 'Encountered "INT" at line 1, column 15'),
        ("SELECT a FROM t QUALIFY", 'Encountered "<EOF>" at line 1, column 24'),
        ("SELECT x'ABC'", "Encountered \"x'ABC'\""),
        ("CREATE TABLE t (a INT PRIMARY KEY)", "ENFORCED mode"),
        ("CREATE TABLE t (a INT UNIQUE)", "UNIQUE constraint is not supported yet"),
        ("CREATE TABLE t (a)", 'Encountered "<EOF>"'),
        ("CREATE MATERIALIZED TABLE t AS SELECT 1", "A materialized table is not supported"),
        ("DROP CATALOG", 'Encountered "<EOF>"'),
        ("SHOW NOTHING", 'Encountered "NOTHING" at line 1, column 6'),
        ("ALTER TABLE t DELETE a", 'Encountered "DELETE" at line 1, column 15'),
        ("SELECT * FROM t TABLESAMPLE BERNOULLI(10)", "TABLESAMPLE is not supported"),
    ],
)
def test_is_refused(sql: str, message: str) -> None:
    with pytest.raises(FiresteelError) as raised:
        parse_statement(sql)
    assert message in raised.value.message


def test_a_name_in_backticks_may_be_anything() -> None:
    statement = parse_statement("SELECT `select`.`a``b` AS `from` FROM `x y`.`select` WHERE `value` = 1")
    assert isinstance(statement, s.Query)


def test_many_operators_are_no_deep_recursion() -> None:
    parse_statement("SELECT " + " + ".join(["1"] * 5000))


def test_position_of_an_error_counts_lines() -> None:
    with pytest.raises(SqlParserError) as raised:
        parse_statement("SELECT a\nFROM t\nWHERE a ==\n 1")
    assert (raised.value.line, raised.value.column) == (3, 10)
