"""What tables say of their columns: as Flink 2.3 does, whose answers these are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firesteel.common.typeinfo import Types
from firesteel.table import DataTypes, Schema, StreamTableEnvironment, Table, TableDescriptor
from firesteel.table.catalog import ComputedColumn, MetadataColumn, PhysicalColumn
from firesteel.table.expressions import col, lit
from firesteel.util.exceptions import TableException
from tests.table.support import rows, stream_of, tables

_DECLARED = """(
  `a` INT COMMENT 'an a',
  `b` STRING NOT NULL,
  `ts` TIMESTAMP(3) *ROWTIME*,
  `m` BIGINT METADATA FROM 'offset' VIRTUAL,
  `c` INT AS `a` + 1,
  `p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME(),
  `up` STRING NOT NULL AS UPPER(`b`),
  WATERMARK FOR `ts`: TIMESTAMP(3) AS `ts` - INTERVAL '5' SECOND,
  CONSTRAINT `PK_b` PRIMARY KEY (`b`) NOT ENFORCED
)"""
_COLUMNS = """(
  `a` INT,
  `b` STRING NOT NULL,
  `ts` TIMESTAMP(3) *ROWTIME*,
  `m` BIGINT,
  `c` INT,
  `p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*,
  `up` STRING NOT NULL
)"""


def _source(t: StreamTableEnvironment) -> Table:
    t.execute_sql(
        "CREATE TABLE src (a INT COMMENT 'an a', b STRING NOT NULL, ts TIMESTAMP(3), "
        "m BIGINT METADATA FROM 'offset' VIRTUAL, c AS a + 1, p AS PROCTIME(), up AS UPPER(b), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (b) NOT ENFORCED) "
        "WITH ('connector' = 'datagen')"
    )
    return t.from_path("src")


def _viewed(table: Table) -> Table:
    table._t_env.create_temporary_view("v", table)
    return table._t_env.from_path("v")


@pytest.mark.row("S-SQL-05")
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda s: s, _DECLARED),
        (lambda s: s.filter(col("a") > 1).where(col("a") > 2), _DECLARED),
        (lambda s: s.order_by(col("ts")), _DECLARED),
        (lambda s: s.distinct(), _DECLARED),
        (lambda s: s.limit(3), _DECLARED),
        (_viewed, _DECLARED),
        (lambda s: s.select(col("*")), _COLUMNS),
        (lambda s: s.union_all(s), _COLUMNS),
        (lambda s: s._t_env.sql_query("SELECT * FROM src"), _COLUMNS),
        (lambda s: _viewed(s._t_env.sql_query("SELECT * FROM src")), _COLUMNS),
    ],
    ids=["path", "filter", "order", "distinct", "limit", "view", "select", "union", "query", "view of query"],
)
def test_a_table_knows_what_is_declared_of_its_columns(made: Callable[[Table], Table], expected: str) -> None:
    with tables() as t:
        assert str(made(_source(t)).get_resolved_schema()) == expected


@pytest.mark.row("S-SQL-05")
def test_its_parts_can_be_asked_for() -> None:
    with tables() as t:
        schema = _source(t).get_resolved_schema()
        shown = repr(t.from_path("src").get_schema())
    kinds = [PhysicalColumn] * 3 + [MetadataColumn] + [ComputedColumn] * 3
    assert [type(c) for c in schema.get_columns()] == kinds
    extras = [c.explain_extras() for c in schema.get_columns()]
    assert extras[3:] == ["METADATA FROM 'offset' VIRTUAL", "AS `a` + 1", "AS PROCTIME()", "AS UPPER(`b`)"]
    (mark,) = schema.get_watermark_specs()
    assert mark.get_rowtime_attribute() == "ts"
    assert mark.get_watermark_expression().as_summary_string() == "`ts` - INTERVAL '5' SECOND"
    key = schema.get_primary_key()
    assert key is not None
    assert (key.get_name(), key.get_columns(), schema.get_primary_key_indexes()) == ("PK_b", ["b"], [1])
    physical = schema.to_physical_row_data_type()
    assert [f.name for f in physical.fields] == ["a", "b", "ts"]  # type: ignore[attr-defined]
    assert shown == (
        "root\n |-- a: INT\n |-- b: STRING NOT NULL\n |-- ts: TIMESTAMP(3) *ROWTIME*\n"
        " |-- m: BIGINT METADATA FROM 'offset' VIRTUAL\n |-- c: INT AS `a` + 1\n"
        " |-- p: TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME()\n"
        " |-- up: STRING NOT NULL AS UPPER(`b`)\n"
        " |-- WATERMARK FOR ts: TIMESTAMP(3) AS `ts` - INTERVAL '5' SECOND\n"
        " |-- CONSTRAINT PK_b PRIMARY KEY (b)\n"
    )


_DESCRIPTOR = """(
  `a` INT NOT NULL,
  `ts` TIMESTAMP(3) *ROWTIME*,
  `c` INT NOT NULL AS times(a, 2),
  `e` INT NOT NULL AS a + 3,
  `n` STRING METADATA,
  WATERMARK FOR `ts`: TIMESTAMP(3) AS minus(ts, 3000),
  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED
)"""


@pytest.mark.row("S-SQL-05")
def test_descriptors_and_what_is_declared_by_expressions() -> None:
    schema = (
        Schema.new_builder()
        .column("a", DataTypes.INT().not_null())
        .column("ts", "TIMESTAMP(3)")
        .column_by_expression("c", col("a") * 2)
        .column_by_expression("e", "a + 3")
        .column_by_metadata("n", DataTypes.STRING())
        .watermark("ts", col("ts") - lit(3).seconds)
        .primary_key("a")
        .build()
    )
    descriptor = TableDescriptor.for_connector("datagen").schema(schema).build()
    with tables() as t:
        assert str(t.from_descriptor(descriptor).get_resolved_schema()) == _DESCRIPTOR
        t.create_temporary_table("made", descriptor)
        resolved = t.from_path("made").get_resolved_schema()
        assert str(resolved) == _DESCRIPTOR
        again = Schema.new_builder().from_resolved_schema(resolved).build()
        described = rows(t.execute_sql("DESCRIBE made"))
        text = rows(t.execute_sql("SHOW CREATE TABLE made"))[0][0]
    assert "`c` AS times(a, 2)" in str(again)
    assert [row[4] for row in described] == [None, None, "AS times(a, 2)", "AS a + 3", "METADATA"]
    assert described[1][5] == "minus(ts, 3000)"
    assert "  `c` AS times(a, 2),\n  `e` AS a + 3,\n" in text


@pytest.mark.row("S-SQL-05")
def test_a_result_says_its_columns() -> None:
    with tables() as t:
        _source(t)
        result = t.execute_sql("DESCRIBE src")
        names = ["name", "type", "null", "key", "extras", "watermark", "comment"]
        assert result.get_table_schema().get_field_names() == names
        assert result.get_resolved_schema().get_column_names() == names
        assert repr(result.get_table_schema()).splitlines()[1] == " |-- name: STRING"


@pytest.mark.row("S-SQL-34")
def test_a_stream_has_the_columns_that_its_schema_adds() -> None:
    schema = (
        Schema.new_builder()
        .column_by_expression("pt", "PROCTIME()")
        .column_by_expression("k", "i + 1")
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    with tables() as t:
        stream = stream_of(t, [], Types.ROW_NAMED(["i", "s"], [Types.INT(), Types.STRING()]))
        found = str(t.from_data_stream(stream, schema).get_resolved_schema())
    assert found.splitlines()[3:-1] == [
        "  `pt` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME(),",
        "  `k` INT AS i + 1,",
        "  `rowtime` TIMESTAMP_LTZ(3) *ROWTIME* METADATA,",
        "  WATERMARK FOR `rowtime`: TIMESTAMP_LTZ(3) AS SOURCE_WATERMARK()",
    ]


@pytest.mark.row("S-SQL-33")
def test_views_are_described_as_the_tables_that_they_show() -> None:
    with tables() as t:
        _viewed(_source(t).filter(col("a") > 1))
        t.execute_sql("CREATE VIEW of_query AS SELECT a, ts FROM src")
        of_table, source = (rows(t.execute_sql(f"DESCRIBE {name}")) for name in ("v", "src"))
        of_query = rows(t.execute_sql("DESCRIBE of_query"))
    assert of_table == source
    assert of_query[1][1] == "TIMESTAMP(3) *ROWTIME*"
    assert [row[5] for row in of_query] == [None, None]


@pytest.mark.row("S-SQL-33")
@pytest.mark.parametrize(
    "made",
    [
        lambda t: t.from_path("src"),
        lambda t: t.sql_query("SELECT a FROM src"),
        lambda t: t.from_elements([(1, "a")], ["a", "b"]),
    ],
    ids=["path", "query", "elements"],
)
def test_views_of_programs_have_no_statement(made: Callable[[StreamTableEnvironment], Table]) -> None:
    with tables() as t:
        _source(t)
        t.create_temporary_view("v", made(t))
        with pytest.raises(TableException, match="not supported for views registered by Table API"):
            t.execute_sql("SHOW CREATE VIEW v")
        with pytest.raises(TableException, match="`v` is a view"):
            t.execute_sql("SHOW CREATE TABLE v")
