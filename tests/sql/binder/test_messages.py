"""What a user sees of a mistake: the situation, the place, the marked text, a near name."""

from __future__ import annotations

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.sql.parser.errors import SqlParserError, SqlValidationError
from tests.sql import support

CATALOG = support.catalog()


def _error(sql: str) -> FiresteelError:
    with pytest.raises(FiresteelError) as raised:
        support.bind(CATALOG, sql)
    return raised.value


@pytest.mark.row("S-SQL-10")
def test_syntax_error() -> None:
    error = _error("SELECT a,\n       b c d\nFROM t")
    assert isinstance(error, SqlParserError)
    assert (error.line, error.column) == (2, 12)
    assert error.message == 'SQL parse failed. Encountered "d" at line 2, column 12.'
    assert error.detail is not None
    assert error.detail.splitlines()[-2:] == ["         b c d", "             ^"]


def test_reserved_word_as_a_name() -> None:
    error = _error("SELECT a AS value FROM t")
    assert error.message == 'SQL parse failed. Encountered "value" at line 1, column 13.'
    assert error.hint is not None
    assert "backticks" in error.hint


def test_unclosed_quote() -> None:
    error = _error("SELECT 'it''s FROM t")
    assert error.message == "SQL parse failed. Lexical error at line 1, column 8."


def test_unknown_column_with_a_near_name() -> None:
    error = _error("SELECT arrr FROM t")
    assert isinstance(error, SqlValidationError)
    assert error.message == (
        "SQL validation failed. From line 1, column 8 to line 1, column 11: Column 'arrr' not found in any "
        "table; did you mean 'arr'?"
    )
    assert error.detail is not None
    assert error.detail.splitlines()[-1] == "         ^^^^"


def test_unknown_table_with_a_near_name() -> None:
    assert _error("SELECT 1 FROM snkk").message.endswith(
        "Object 'snkk' not found within 'default_catalog.default_database'; did you mean 'snk'?"
    )


def test_type_clash() -> None:
    assert _error("SELECT a + c FROM t").message == (
        "SQL validation failed. From line 1, column 8 to line 1, column 12: Cannot apply '+' to arguments of "
        "type '<INTEGER> + <VARCHAR(2147483647)>'. Supported form(s): '<NUMERIC> + <NUMERIC>'\n"
        "'<DATETIME_INTERVAL> + <DATETIME_INTERVAL>'\n"
        "'<DATETIME> + <DATETIME_INTERVAL>'\n'<DATETIME_INTERVAL> + <DATETIME>'"
    )


def test_missing_function() -> None:
    assert _error("SELECT uper(c) FROM t").message == (
        "SQL validation failed. From line 1, column 8 to line 1, column 14: No match found for function "
        "signature uper(<CHARACTER>); did you mean 'UPPER'?"
    )


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("INSERT INTO snk SELECT a FROM t", "Cause: Different number of columns."),
        (
            "INSERT INTO snk SELECT c, c FROM t",
            "Cause: Incompatible types for sink column 'a' at position 1.",
        ),
        ("INSERT INTO snk (b) SELECT c FROM t", "Column 'a' has no default value and does not allow NULLs"),
        (
            "INSERT INTO snk (b, zz) SELECT c, c FROM t",
            "line 1, column 21 to line 1, column 22: Unknown target",
        ),
        (
            "INSERT INTO nope SELECT c FROM t",
            "Cannot find table '`default_catalog`.`default_database`.`nope`'",
        ),
    ],
)
def test_insert_that_does_not_fit(sql: str, message: str) -> None:
    assert message in _error(sql).message


def test_mismatch_shows_both_schemas() -> None:
    assert _error("INSERT INTO snk SELECT a FROM t").message == (
        "Column types of query result and sink for 'default_catalog.default_database.snk' do not match.\n"
        "Cause: Different number of columns.\n\nQuery schema: [a: INT]\nSink schema:  [a: INT, b: STRING]"
    )


def test_text_of_a_view_is_the_one_that_is_marked() -> None:
    catalog = support.catalog()
    support.create(catalog, "CREATE VIEW v AS SELECT nope FROM t")
    with pytest.raises(SqlValidationError, match="Column 'nope' not found") as raised:
        support.bind(catalog, "SELECT * FROM v")
    assert raised.value.detail is not None
    assert "SELECT nope FROM t" in raised.value.detail


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("UPPER(c, c)", "Invalid number of arguments to function 'UPPER'. Was expecting 1 arguments"),
        ("COUNT()", "Invalid number of arguments to function 'COUNT'. Was expecting 1 arguments"),
        ("MAX(ARRAY[a])", "Cannot apply 'MAX' to arguments of type 'MAX(<INTEGER ARRAY>)'."),
        ("SUM(c)", "Cannot apply 'SUM' to arguments of type 'SUM(<VARCHAR(2147483647)>)'."),
        ("CASE a WHEN 1 THEN 'x' ELSE 2 END", "Illegal mixing of types in CASE or COALESCE statement"),
        ("a IN ('x', 1)", "Values in expression list must have compatible types"),
        ("CAST(ARRAY[1] AS INT)", "Cast function cannot convert value of type INTEGER ARRAY to type INTEGER"),
        ("DATE '2024-13-01'", "Illegal DATE literal '2024-13-01': not in format 'yyyy-MM-dd'"),
        (
            "FIRST_VALUE(a) IGNORE NULLS",
            "Cannot specify IGNORE NULLS or RESPECT NULLS following 'FIRST_VALUE'",
        ),
        ("LISTAGG(c) WITHIN GROUP (ORDER BY a)", "'LISTAGG' must not contain a WITHIN GROUP clause"),
        ("1 + NULL", "Illegal use of 'NULL'"),
        (
            "PARSE_JSON(c)[1.5]",
            "Cannot apply 'ITEM' to arguments of type 'ITEM(<VARIANT>, <DECIMAL(2, 1)>)'. Supported form(s): "
            "<ARRAY>[<INTEGER>]\n<MAP>[<ANY>]\n<ROW>[<CHARACTER>|<INTEGER>]\n<VARIANT>[<CHARACTER>|<INTEGER>]",
        ),
    ],
)
def test_wrong_calls_are_told_in_the_words_of_flink(expression: str, message: str) -> None:
    assert message in _error(f"SELECT {expression} FROM t").message


@pytest.mark.parametrize(
    ("pattern", "measure", "message"),
    [
        ("A A", "A.a", "Pattern variables must be unique."),
        ("A B", "A.nope", "Column 'nope' not found in table 'A'"),
    ],
)
def test_mistakes_of_patterns(pattern: str, measure: str, message: str) -> None:
    sql = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {} AS m ONE ROW PER MATCH "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN ({}) DEFINE A AS A.a > 1)"
    )
    assert message in _error(sql.format(measure, pattern)).message
