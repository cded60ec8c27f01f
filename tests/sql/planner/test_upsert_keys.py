"""Which columns identify the rows of a plan."""

from __future__ import annotations

import pytest

from firesteel.sql import physical as p
from firesteel.sql.upsert_keys import unique_keys
from tests.table.support import tables

JOINED = "SELECT * FROM o JOIN d FOR SYSTEM_TIME AS OF o.p AS d ON o.{} = d.{}"


@pytest.mark.row("S-SQL-21")
@pytest.mark.parametrize(("mine", "asked", "is_key"), [("k", "id", True), ("m", "b", False)])
def test_a_table_that_is_asked_by_its_key_gives_one_row(mine: str, asked: str, is_key: bool) -> None:
    """Not all columns of it are read, so the key is not at its place in the table.

    Broken by hand: ``_left_side`` takes the names of the table, not those of what is read.
    """
    with tables() as t:
        t.execute_sql(
            "CREATE TABLE o (k INT, m STRING, p AS PROCTIME(), PRIMARY KEY (k) NOT ENFORCED) "
            "WITH ('connector' = 'datagen')"
        )
        t.execute_sql(
            "CREATE TABLE d (more STRING, id INT, b STRING, PRIMARY KEY (id) NOT ENFORCED) "
            "WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:nothing.db', 'table-name' = 'd')"
        )
        query = JOINED.format(mine, asked).replace("*", "o.k, d.b")
        plan = t._session.physical(t.sql_query(query)._node)
    (join,) = [node for node in p.walk(plan) if isinstance(node, p.LookupJoin)]
    assert list(join.right_row.names) == ["id", "b"]
    assert bool(unique_keys(join)) is is_key
