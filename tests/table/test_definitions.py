"""What statements make of tables, catalogs and models, as Flink 2.3 shows it."""

from __future__ import annotations

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.table import TableEnvironment
from tests.table.support import batch_tables, rows, tables

BASE = (
    "CREATE TABLE base (id INT, ts TIMESTAMP(3), c AS id + 1, WATERMARK FOR ts AS ts, "
    "PRIMARY KEY (id) NOT ENFORCED) COMMENT 'of base' PARTITIONED BY (id) "
    "WITH ('path' = '/tmp/b', 'connector' = 'filesystem', 'format' = 'csv')"
)


def test_options_are_shown_in_order_of_their_keys_and_nothing_where_there_are_none() -> None:
    with tables() as t:
        t.execute_sql(BASE)
        t.execute_sql("CREATE TABLE l LIKE base (EXCLUDING ALL)")
        ((text,),) = rows(t.execute_sql("SHOW CREATE TABLE base"))
        ((bare,),) = rows(t.execute_sql("SHOW CREATE TABLE l"))
    assert text.endswith(
        "WITH (\n  'connector' = 'filesystem',\n  'format' = 'csv',\n  'path' = '/tmp/b'\n)\n"
    )
    # A key column stays NOT NULL, partitions stay, a comment does not come along.
    assert bare.endswith("(\n  `id` INT NOT NULL,\n  `ts` TIMESTAMP(3)\n)\nPARTITIONED BY (`id`)\n")


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("LIKE base (OVERWRITING CONSTRAINTS)", "Illegal merging strategy 'OVERWRITING' for 'CONSTRAINTS'"),
        ("LIKE base (INCLUDING OPTIONS EXCLUDING OPTIONS)", "can be declared only once"),
        ("PARTITIONED BY (ts) LIKE base", "already has partitions defined"),
        (
            "(x INT) DISTRIBUTED BY RANGE(z) INTO 3 BUCKETS WITH ('connector'='datagen')",
            "Invalid bucket key 'z'",
        ),
        ("(x INT) DISTRIBUTED INTO 0 BUCKETS WITH ('connector'='datagen')", "Invalid bucket count '0'"),
    ],
)
def test_what_a_table_cannot_be_made_of(clause: str, message: str) -> None:
    with tables() as t:
        t.execute_sql(BASE)
        with pytest.raises(FiresteelError, match=message):
            t.execute_sql(f"CREATE TABLE l {clause}")


def test_a_comment_stays_where_a_column_is_modified_without_one() -> None:
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE a (x INT COMMENT 'kept', y INT COMMENT 'old') WITH ('connector'='datagen')"
        )
        t.execute_sql("ALTER TABLE a MODIFY (x BIGINT, y BIGINT COMMENT 'new')")
        assert [(r[0], r[1], r[-1]) for r in rows(t.execute_sql("DESCRIBE a"))] == [
            ("x", "BIGINT", "kept"),
            ("y", "BIGINT", "new"),
        ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE v SET ('a' = 'b')", "ALTER TABLE for a view is not allowed"),
        ("ALTER TABLE a RESET ()", "does not support empty key"),
        ("ALTER TABLE a MODIFY DISTRIBUTION INTO 5 BUCKETS", "does not define any distribution"),
        ("CREATE VIEW w (y, y) AS SELECT x, x FROM a", "name `y` has been defined at line 1, column 32"),
        ("CREATE VIEW w AS SELECT x, x FROM a", "name `x` has been defined at line 1, column 25"),
        (
            "CREATE VIEW w AS SELECT x AS y, x + 1 AS y FROM a",
            "name `y` has been defined at line 1, column 25",
        ),
        ("ALTER VIEW v AS SELECT x, x FROM a", "name `x` has been defined at line 1, column 24"),
        ("CREATE VIEW w (y) AS SELECT x, x FROM a", "VIEW definition and input fields not match"),
        ("SHOW TABLES FROM nope", "Database 'default_catalog'.'nope' doesn't exist"),
        ("SHOW VIEWS IN nope.x", "A catalog with name \\[nope\\] does not exist"),
        ("ALTER CATALOG c RESET ('type')", "does not support changing 'type'"),
        ("ALTER CATALOG c RESET ()", "does not support empty key"),
        ("CREATE CATALOG d WITH ('x' = 'y')", "Unable to create catalog 'd'"),
        ("USE MODULES core, core", "appears more than once"),
        ("CREATE MODEL m INPUT (a INT) OUTPUT (b INT)", "property list can not be empty"),
        ("CREATE MODEL m INPUT (a INT) WITH ('provider' = 'p')", "Output column list can not be empty"),
        ("ALTER MODEL ask SET ()", "does not support empty option"),
        ("DESCRIBE MODEL nope", "Model with the identifier"),
    ],
)
def test_statements_that_cannot_be_meant(statement: str, message: str) -> None:
    with tables() as t:
        t.execute_sql("CREATE TABLE a (x INT) WITH ('connector'='datagen')")
        t.execute_sql("CREATE VIEW v AS SELECT * FROM a")
        t.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
        t.execute_sql("CREATE MODEL ask INPUT (q STRING) OUTPUT (a STRING) WITH ('provider' = 'p')")
        with pytest.raises(FiresteelError, match=message):
            t.execute_sql(statement)


def test_models_are_described_and_shown_as_they_were_made() -> None:
    with tables() as t:
        t.execute_sql(
            "CREATE TEMPORARY MODEL m INPUT (a INT, b STRING) OUTPUT (c DOUBLE) COMMENT 'it''s' "
            "WITH ('x' = 'y', 'provider' = 'p')"
        )
        assert rows(t.execute_sql("DESCRIBE MODEL m")) == [
            ("a", "INT", True, True),
            ("b", "STRING", True, True),
            ("c", "DOUBLE", True, False),
        ]
        ((text,),) = rows(t.execute_sql("SHOW CREATE MODEL m"))
        assert text == (
            "CREATE TEMPORARY MODEL `default_catalog`.`default_database`.`m`\n"
            "INPUT (`a` INT, `b` VARCHAR(2147483647))\nOUTPUT (`c` DOUBLE)\nCOMMENT 'it''s'\n"
            "WITH (\n  'provider' = 'p',\n  'x' = 'y'\n)\n"
        )


def test_catalogs_and_views_are_shown_with_their_comments() -> None:
    with tables() as t:
        t.execute_sql("CREATE CATALOG c COMMENT 'it''s' WITH ('type' = 'generic_in_memory')")
        t.execute_sql("CREATE VIEW v (x) COMMENT 'one' AS SELECT 1")
        ((catalog,),) = rows(t.execute_sql("SHOW CREATE CATALOG c"))
        ((view,),) = rows(t.execute_sql("SHOW CREATE VIEW v"))
    assert catalog == "CREATE CATALOG `c`\nCOMMENT 'it''s'\nWITH (\n  'type' = 'generic_in_memory'\n)\n"
    assert "(\n  `x`\n)\nCOMMENT 'one'\nAS SELECT 1" in view


def test_functions_of_a_catalog_are_described() -> None:
    with tables() as t:
        t.execute_sql("CREATE FUNCTION f AS 'tests.table.described.plus_one' LANGUAGE PYTHON")
        assert rows(t.execute_sql("DESCRIBE FUNCTION f")) == [
            ("is system function", "false"),
            ("is temporary", "false"),
            ("class name", "tests.table.described.plus_one"),
            ("function language", "PYTHON"),
            ("resource uris", "[]"),
        ]
        assert rows(t.execute_sql("DESCRIBE FUNCTION EXTENDED f"))[-1] == (
            "signature",
            "default_catalog.default_database.f(*)",
        )


def test_names_that_a_star_gives_a_view_twice_are_told_apart() -> None:
    with tables() as t:
        t.execute_sql("CREATE TABLE a (x INT) WITH ('connector'='datagen')")
        t.execute_sql("CREATE VIEW v AS SELECT * FROM a JOIN a AS b ON a.x = b.x")
        t.execute_sql("CREATE VIEW w (y, z) AS SELECT x, x FROM a")
        assert [r[0] for name in "vw" for r in rows(t.execute_sql(f"DESCRIBE {name}"))] == [
            "x",
            "x0",
            "y",
            "z",
        ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "ANALYZE TABLE a COMPUTE STATISTICS FOR COLUMNS x, nope",
            "Column: nope does not exist in the table",
        ),
        ("ANALYZE TABLE nope COMPUTE STATISTICS", "nope` doesn't exist or is a temporary table"),
        ("ANALYZE TABLE v COMPUTE STATISTICS", "v` doesn't exist or is a temporary table"),
        ("ANALYZE TABLE a PARTITION (x) COMPUTE STATISTICS", "is not a partition table"),
        ("ANALYZE TABLE p COMPUTE STATISTICS", r"given partition keys: \[\] are not match"),
        ("ANALYZE TABLE p PARTITION (x) COMPUTE STATISTICS", r"target partition keys: \[y\]"),
    ],
)
def test_what_cannot_be_analyzed(statement: str, message: str) -> None:
    for make in (tables, batch_tables):
        with make() as t:
            _to_analyze(t)
            with pytest.raises(FiresteelError, match=message):
                t.execute_sql(statement)


def test_tables_are_analyzed_in_batch_mode_only() -> None:
    statements = (
        "ANALYZE TABLE a COMPUTE STATISTICS",
        "ANALYZE TABLE a COMPUTE STATISTICS FOR ALL COLUMNS",
        "ANALYZE TABLE a COMPUTE STATISTICS FOR COLUMNS x",
        "ANALYZE TABLE p PARTITION (y) COMPUTE STATISTICS",
    )
    with tables() as t:
        _to_analyze(t)
        for statement in statements:
            with pytest.raises(FiresteelError, match="not supported for streaming mode"):
                t.execute_sql(statement)


def _to_analyze(t: TableEnvironment) -> None:
    t.execute_sql("CREATE TABLE a (x INT) WITH ('connector'='datagen')")
    t.execute_sql("CREATE TEMPORARY VIEW v AS SELECT x FROM a")
    t.execute_sql(
        "CREATE TABLE p (x INT, y INT) PARTITIONED BY (y) "
        "WITH ('connector'='filesystem', 'path'='/nowhere', 'format'='csv')"
    )
