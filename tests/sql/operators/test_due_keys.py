"""Keys by when something is due for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.sql.operators.due_keys import NEVER, DueKeys
from firesteel.sql.operators.marked_rows import MarkedRows
from tests.table.support import kept, tables

#: Put a key at a time, or (None) take those up to it. Names of several kinds, which cannot be compared.
STEPS = st.lists(st.tuples(st.sampled_from(["a", 1, None, ("b", None)]) | st.just("take"), st.integers(0, 9)))


@given(STEPS)
def test_keys_are_due_once_and_in_order(steps: list[tuple[Any, int]]) -> None:
    due, expected = DueKeys(), dict[Any, int]()
    for name, time in steps:
        if name != "take":
            due.put(name, repr(name), time)
            expected[name] = min(time, expected.get(name, NEVER))
            continue
        found = [name for name, _ in due.take(time)]
        assert sorted(map(repr, found)) == sorted(repr(n) for n, at in expected.items() if at <= time)
        assert [expected[n] for n in found] == sorted(expected[n] for n in found)
        for n in found:
            del expected[n]
    assert due.first <= min(expected.values(), default=NEVER)


JOINS = {
    "temporal": "SELECT o.id, c.name FROM o JOIN c FOR SYSTEM_TIME AS OF o.ts ON o.id = c.id",
    "interval": "SELECT o.id, c.name FROM o LEFT JOIN c ON o.id = c.id "
    "AND o.ts BETWEEN c.ts AND c.ts + INTERVAL '1' DAY",
}


@pytest.mark.parametrize("join", JOINS)
def test_a_watermark_does_not_make_a_join_look_at_all_keys(
    join: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 rows, a minute apart, each has a watermark behind it."""
    for name in ("o", "c"):
        lines = (f"{i},n{i},2024-01-01 {i // 60:02}:{i % 60:02}:00\n" for i in range(300))
        (tmp_path / f"{name}.csv").write_text("".join(lines))
    looks: list[int] = []
    every = MarkedRows.all

    def counted(self: MarkedRows) -> Any:
        found = every(self)
        looks.append(len(found))
        return found

    monkeypatch.setattr(MarkedRows, "all", counted)
    with tables() as t:
        for name in ("o", "c"):
            t.execute_sql(
                f"CREATE TABLE {name} (id INT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, "
                f"PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'filesystem', "
                f"'path' = '{tmp_path}/{name}.csv', 'format' = 'csv')"
            )
        found = sorted(kept(t.sql_query(JOINS[join])))
    assert found == [(i, f"n{i}") for i in range(300)]
    assert sum(looks) <= 4 * 300
