"""What a collection that is a table gives: its rows, never its columns."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from firesteel.common.typeinfo import Types
from firesteel.common.types import Row
from firesteel.datastream import StreamExecutionEnvironment

COLUMNS = {"a": [1, 2], "b": ["x", None], "when": [datetime.datetime(2020, 1, 2, 3), None]}
ROWS = [Row(a=1, b="x", when=datetime.datetime(2020, 1, 2, 3)), Row(a=2, b=None, when=None)]

TABLES: dict[str, Any] = {
    "pandas": pd.DataFrame(COLUMNS, index=[7, 9]),
    "Arrow table": pa.table(COLUMNS),
    "Arrow record batch": pa.RecordBatch.from_pydict(COLUMNS),
}


def elements(collection: Any, type_info: Any = None) -> list[Any]:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection(collection, type_info)
    return list(stream._transformation.source.records)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_gives_its_rows(table: Any) -> None:
    assert elements(table) == ROWS
    names = [row.get_fields_by_names(["b", "a"]) for row in elements(table)]
    assert names == [["x", 1], [None, 2]]


def test_rows_of_a_table_take_the_declared_type() -> None:
    type_info = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    assert elements(TABLES["pandas"][["a", "b"]], type_info) == [Row(a=1, b="x"), Row(a=2, b=None)]


def test_other_collections_give_what_iterating_gives() -> None:
    """As PyFlink 2.3.0 does."""
    assert elements({"k": 1, "m": 2}) == ["k", "m"]
    assert elements("abc") == ["a", "b", "c"]
    assert elements(b"ab") == [97, 98]
    assert sorted(elements({1, 2})) == [1, 2]
    assert elements(x for x in [1, 2]) == [1, 2]
    assert elements(pd.Series([1, 2])) == [1, 2]
    assert elements(pa.array([1, 2])) == list(pa.array([1, 2]))
