"""Plans of the binder: views, expansion, hints, sinks, functions of users, row patterns."""

from __future__ import annotations

import pytest

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import logical as l, types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.functions.registry import FunctionKind
from firesteel.sql.match_recognize import AggregateValue, RowValue, cep_pattern
from firesteel.sql.parser.statement_parser import parse_statement
from firesteel.sql.rules.optimize import optimize
from firesteel.sql.rules.trees import walk_plan
from tests.counting import counted_calls
from tests.sql import support


def _nodes(plan: l.Node, kind: type) -> list[l.Node]:
    return [n for n in walk_plan(plan) if isinstance(n, kind)]


def test_computed_columns_and_watermarks_stand_above_the_scan() -> None:
    plan = support.bind(support.catalog(), "SELECT ts, p FROM t")
    project = plan.input  # type: ignore[attr-defined]
    assert isinstance(project, l.WatermarkAssigner)
    assert isinstance(project.input, l.Project)
    assert isinstance(project.input.input, l.Scan)
    assert "p" not in project.input.input.row.names
    assert [f.data_type.attribute for f in plan.row.fields] == ["rowtime", "proctime"]  # type: ignore[attr-defined]


def test_views_are_expanded_and_common_tables_are_shared() -> None:
    catalog = support.catalog()
    support.create(catalog, "CREATE VIEW v AS SELECT a AS x FROM s")
    plan = support.bind(
        catalog, "WITH q AS (SELECT x FROM v) SELECT l.x FROM q AS l JOIN q AS r ON l.x = r.x"
    )
    assert len(_nodes(plan, l.Scan)) == 1


def test_a_view_of_itself_is_refused() -> None:
    catalog = support.catalog()
    support.create(catalog, "CREATE VIEW v AS SELECT * FROM v")
    with pytest.raises(Exception, match="defined by itself"):
        support.bind(catalog, "SELECT * FROM v")


def test_text_of_a_view_gets_full_names() -> None:
    sql = "SELECT x.a FROM s AS x JOIN (SELECT * FROM `ver`) AS y /* s */ ON x.a = y.k"
    catalog = support.catalog()
    binder = Binder(catalog, sql)
    query = parse_statement(sql)
    binder.bind_query(query.tree)
    full = "`default_catalog`.`default_database`."
    assert binder.expanded(query) == sql.replace("FROM s", f"FROM {full}`s`").replace(
        "FROM `ver`", f"FROM {full}`ver`"
    )


def test_options_of_a_hint_are_those_of_the_table() -> None:
    catalog = support.catalog("CREATE TABLE k (a INT) WITH ('x' = '1', 'y' = '2')")
    (scan,) = _nodes(
        support.bind(catalog, "SELECT a FROM k /*+ OPTIONS('y' = '3', 'z' = '4') */ AS q"), l.Scan
    )
    assert isinstance(scan, l.Scan)
    assert scan.table.options == {"x": "1", "y": "3", "z": "4"}


def test_hints_of_a_select_are_on_its_join() -> None:
    sql = (
        "SELECT /*+ STATE_TTL('x' = '1d', 'y' = '2h'), BROADCAST(y), NOTHING(z) */ "
        "x.a FROM s x JOIN s y ON x.a = y.a"
    )
    (join,) = _nodes(support.bind(support.catalog(), sql), l.Join)
    assert join.hints == (("STATE_TTL", (("LEFT", "1d"), ("RIGHT", "2h"))), ("BROADCAST", ("RIGHT",)))


def test_insert_with_columns_and_static_partition() -> None:
    catalog = support.catalog(
        "CREATE TABLE p (a BIGINT, b STRING, dt DATE) PARTITIONED BY (dt)", "CREATE TABLE q (x INT, y STRING)"
    )
    plan = support.bind(catalog, "INSERT OVERWRITE p PARTITION (dt = '2024-01-02') (b, a) SELECT y, x FROM q")
    assert isinstance(plan, l.Sink)
    assert plan.columns == (1, 0, 2)
    assert plan.overwrite
    assert plan.static_partition == (("dt", "2024-01-02"),)
    assert [str(d) for d in plan.input.row.types] == ["STRING", "BIGINT", "DATE NOT NULL"]


def test_columns_that_are_not_written_are_null() -> None:
    plan = support.bind(support.catalog("CREATE TABLE p (a INT, b STRING)"), "INSERT INTO p (b) SELECT 'x'")
    assert isinstance(plan, l.Sink)
    assert plan.columns == (None, 0)


def test_functions_of_the_user_are_noted() -> None:
    catalog = support.catalog()
    support.add_function(catalog, "twice", t.IntType())
    support.add_function(catalog, "words", t.RowType.of(["w"], [t.VarCharType()]), FunctionKind.TABLE)
    sql = "SELECT twice(a), w FROM s LEFT JOIN LATERAL TABLE(words(e)) ON TRUE"
    binder = Binder(catalog, sql)
    plan = binder.bind_query(parse_statement(sql).tree)
    assert sorted(binder.functions) == ["twice", "words"]
    (correlate,) = _nodes(plan, l.Correlate)
    assert isinstance(correlate, l.Correlate)
    assert correlate.kind == "LEFT"
    assert isinstance(correlate.right, l.TableCall)


@pytest.mark.row("S-SQL-29")
def test_row_pattern() -> None:
    plan = support.bind(
        support.catalog(),
        """SELECT * FROM t MATCH_RECOGNIZE (
             PARTITION BY b ORDER BY ts
             MEASURES FIRST(A.a) AS low, LAST(B.a, 1) AS high, COUNT(B.a) AS n, A.a + LAST(B.a) AS total
             AFTER MATCH SKIP TO LAST B
             PATTERN (A B{2,3} C) WITHIN INTERVAL '1' HOUR
             DEFINE A AS a > 1, B AS B.a > LAST(B.a, 1) OR LAST(B.a, 1) IS NULL)""",
    )
    (match,) = _nodes(plan, l.Match)
    assert isinstance(match, l.Match)
    spec = match.specification
    assert match.row.names == ("b", "low", "high", "n", "total")
    assert spec.variables == ["A", "B", "C"]
    assert spec.within == 3_600_000
    assert spec.skip == ("LAST", "B")
    low, high, n, total = spec.measures
    assert [(v.variable, v.last, v.offset) for v in low.values if isinstance(v, RowValue)] == [
        ("A", False, 0)
    ]
    assert [(v.variable, v.last, v.offset) for v in high.values if isinstance(v, RowValue)] == [
        ("B", True, 1)
    ]
    assert isinstance(n.values[0], AggregateValue)
    assert len(total.values) == 2
    assert {v.offset for v in spec.define["B"].values} == {0, 1}
    stages = cep_pattern(spec, lambda name: lambda event: True).stages()
    assert [stage.name for stage in stages] == ["A", "B", "C"]
    assert stages[1].quantifier.is_greedy


@pytest.mark.parametrize("pattern", ["A | B", "(A B)+", "A {- B -}", "A B*", "PERMUTE(A, B)"])
def test_row_patterns_that_flink_refuses(pattern: str) -> None:
    sql = (
        f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.a AS x PATTERN "
        f"({pattern}) DEFINE A AS TRUE)"
    )
    with pytest.raises(UnsupportedFeatureError):
        support.bind(support.catalog(), sql)


def test_changelog_functions() -> None:
    catalog = support.catalog("CREATE TABLE c (id INT, op STRING, name STRING)")
    plan = support.bind(
        catalog,
        "SELECT * FROM FROM_CHANGELOG(input => TABLE c, op_mapping => MAP['c, r', 'INSERT', 'd', 'DELETE'])",
    )
    (node,) = _nodes(plan, l.ProcessTable)
    assert isinstance(node, l.ProcessTable)
    assert node.row.names == ("id", "name")
    assert node.arguments == (("op", 1), ("mapping", (("c", 0), ("r", 0), ("d", 3))))
    with pytest.raises(Exception, match="Duplicate change operation: 'DELETE'"):
        support.bind(
            catalog,
            "SELECT * FROM TO_CHANGELOG(input => TABLE c, op_mapping => "
            "MAP['INSERT, DELETE', 'A', 'DELETE', 'B'])",
        )


def calls_to_plan(joins: int, columns: int) -> int:
    """How many functions are called to bind and to optimize a query of so many joins, with so many columns of
    each table."""
    tables = [
        f"CREATE TABLE t{i} ({', '.join(f'c{i}_{j} BIGINT' for j in range(columns))})"
        for i in range(joins + 1)
    ]
    catalog = support.catalog(*tables)
    selected = ", ".join(f"t{i}.c{i}_{j} + 1 AS x{i}_{j}" for i in range(joins) for j in range(columns))
    joined = " ".join(
        f"LEFT JOIN t{i} ON t{i}.c{i}_1 = t{i - 1}.c{i - 1}_1 AND t{i}.c{i}_3 > {i}"
        for i in range(1, joins + 1)
    )
    sql = f"SELECT {selected} FROM t0 {joined} WHERE t0.c0_1 > 5 AND t3.c3_5 = 7"
    support.bind(catalog, sql)  # what is made once is there
    with counted_calls() as calls:
        plan = optimize(support.bind(catalog, sql))
    assert len(plan.row.fields) == joins * columns
    return calls.count


def test_the_work_of_planning_grows_with_the_query() -> None:
    """Half the joins or half the columns, half the work; of 200 columns and 10 joins it is 300,000 calls."""
    whole = calls_to_plan(10, 20)
    assert whole < 600_000
    assert whole < 2.5 * calls_to_plan(5, 20)
    assert whole < 2.3 * calls_to_plan(10, 10)
