"""Precedence, literals, calls with a syntax of their own, places of nodes."""

from __future__ import annotations

import re

import pytest
import sqlglot
from sqlglot import exp

from firesteel.sql.parser.dialect import Flink, parse_expression, parse_query
from firesteel.sql.parser.errors import SqlParserError
from firesteel.sql.parser.nodes import Collection, IntervalLiteral, JsonCall, TypedLiteral
from firesteel.sql.row_patterns import (
    Alternatives,
    Excluded,
    Permutation,
    Quantified,
    Sequence,
    Variable,
)


def _shape(node: exp.Expr) -> str:
    """The operators with parentheses."""
    if isinstance(node, exp.Binary):
        return f"({_shape(node.this)} {type(node).__name__} {_shape(node.expression)})"
    if isinstance(node, exp.Not | exp.Neg):
        return f"{type(node).__name__}{_shape(node.this)}"
    if isinstance(node, exp.Is):
        return f"({_shape(node.this)} Is {node.expression.this})"
    if isinstance(node, exp.Between):
        return f"({_shape(node.this)} Between {_shape(node.args['low'])} {_shape(node.args['high'])})"
    if isinstance(node, exp.Column):
        return ".".join(p.this for p in node.args["path"])
    return str(node.this)


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("a + b * c - d", "((a Add (b Mul c)) Sub d)"),
        ("a OR b AND NOT c = d", "(a Or (b And Not(c EQ d)))"),
        ("a = b IS NULL", "((a EQ b) Is NULL)"),
        ("a BETWEEN b AND c AND d", "((a Between b c) And d)"),
        ("- a * b", "(Nega Mul b)"),
        ("a || b || c", "((a DPipe b) DPipe c)"),
        ("a + b = c + d", "((a Add b) EQ (c Add d))"),
        ("a <> b OR a != c", "((a NEQ b) Or (a NEQ c))"),
        ("t.r.f % 2", "(t.r.f Mod 2)"),
        ("NOT a IS NOT TRUE", "NotNot(a Is TRUE)"),
    ],
)
def test_precedence(sql: str, shape: str) -> None:
    assert _shape(parse_expression(sql)) == shape


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("CASE WHEN b THEN 2else 3end", "CASE WHEN b THEN 2 ELSE 3 END"),
        ("CASE WHEN 1=1then 1.5ELSE_ END", None),
        ("1.5e3and 2", "1.5e3 AND 2"),
        ("2e3", "2e3"),
        ("2e", None),
        ("0x1F", None),
    ],
)
def test_a_word_may_follow_a_number_at_once(sql: str, shape: str | None) -> None:
    if shape is None:
        with pytest.raises(SqlParserError, match="Encountered"):
            parse_expression(sql)
    else:
        assert parse_expression(sql) == parse_expression(shape)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (r"U&'\12'", "Unicode escape sequence starting at character 0 is not exactly four hex digits"),
        (r"U&'ab!xyzw' UESCAPE '!'", "Unicode escape sequence starting at character 2"),
        ("'a' 'b'", "Encountered \"'b'\""),
    ],
)
def test_texts_that_are_refused(sql: str, said: str) -> None:
    with pytest.raises(SqlParserError, match=re.escape(said)):
        parse_expression(sql)


def test_literals() -> None:
    assert parse_expression("'it''s'").this == "it's"
    assert parse_expression("'a'\n 'b'").this == "ab"
    assert parse_expression("U&'\\00e9!'").this == "é!"
    assert parse_expression("U&'\\D83D\\DE00 \\D83D'").this == "😀 ?"
    assert parse_expression("U&'#00e9' UESCAPE '#'").this == "é"
    assert parse_expression("-1.5e3").this == "-1.5e3"
    assert isinstance(parse_expression("x'AF'"), exp.HexString)
    assert isinstance(parse_expression("DATE '2020-01-01'"), TypedLiteral)
    interval = parse_expression("INTERVAL -'1 10:00' DAY TO MINUTE")
    assert isinstance(interval, IntervalLiteral)
    assert (interval.args["unit"], interval.args["negative"]) == ("DAY_TO_MINUTE", True)


def test_words_that_are_functions_or_names() -> None:
    assert isinstance(parse_expression("DATE_FORMAT(a, 'x')"), exp.Anonymous)
    assert isinstance(parse_expression("LEFT(a, 1)"), exp.Anonymous)
    assert isinstance(parse_expression("CURRENT_DATE"), exp.Anonymous)
    assert isinstance(parse_expression("user"), exp.Column)
    assert parse_expression("a.b.f(x)").args["path"] == ["a", "b", "f"]


def test_special_calls() -> None:
    trim = parse_expression("TRIM(LEADING 'x' FROM a)")
    assert [type(e).__name__ for e in trim.expressions] == ["Symbol", "Literal", "Column"]
    json = parse_expression("JSON_VALUE(a, '$.x' RETURNING INT NULL ON EMPTY DEFAULT 1 ON ERROR)")
    assert isinstance(json, JsonCall)
    assert [name for name, _ in json.args["options"]] == ["RETURNING", "ON EMPTY", "ON ERROR"]
    cast = parse_expression("CAST(a AS ROW<x ARRAY<INT NOT NULL>, y MAP<STRING, ROW<z INT>>> NOT NULL)")
    assert cast.args["to"].this == "ROW<x ARRAY<INT NOT NULL>, y MAP<STRING, ROW<z INT>>> NOT NULL"
    collection = parse_expression("MAP['a', ARRAY[1, 2][1], 'b', m['k'].f]")
    assert isinstance(collection, Collection)
    assert len(collection.expressions) == 4


def test_nodes_know_their_place() -> None:
    sql = "SELECT a,\n UPPER(b || 'x') FROM t"
    call = parse_query(sql).expressions[1]
    assert sql[call.meta["start"] : call.meta["end"] + 1] == "UPPER(b || 'x')"
    inner = call.expressions[0]
    assert sql[inner.meta["start"] : inner.meta["end"] + 1] == "b || 'x'"


def test_it_is_a_dialect_of_sqlglot() -> None:
    assert isinstance(sqlglot.parse_one("SELECT a FROM t", dialect=Flink), exp.Select)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (
            "A B+ C*?",
            Sequence(
                (Variable("A"), Quantified(Variable("B"), 1, None), Quantified(Variable("C"), 0, None, False))
            ),
        ),
        ("A{2}", Quantified(Variable("A"), 2, 2)),
        ("A{2,}", Quantified(Variable("A"), 2, None)),
        ("A{,3}?", Quantified(Variable("A"), 0, 3, False)),
        ("A | B C", Alternatives((Variable("A"), Sequence((Variable("B"), Variable("C")))))),
        ("(A B)?", Quantified(Sequence((Variable("A"), Variable("B"))), 0, 1)),
        ("{- A -} B", Sequence((Excluded(Variable("A")), Variable("B")))),
        ("PERMUTE(A, B)", Permutation((Variable("A"), Variable("B")))),
    ],
)
def test_row_patterns(pattern: str, expected: object) -> None:
    query = parse_query(f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE A AS TRUE) AS m")
    assert query.args["from_"].args["pattern"].this == expected
