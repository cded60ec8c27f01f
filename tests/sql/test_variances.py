"""VAR_POP, STDDEV and their like give the digits of Flink 2.3.

The first line of ``data/variances.jsonl`` has the tables, each other one a query and what Flink's changes for
it are. What those of Flink depend on beside the rows is not there: which rows of a window a flush has put
together before, and in which order its sort leaves the rows of a key.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.testing import MiniCluster

_LINES = (Path(__file__).parent / "data" / "variances.jsonl").read_text(encoding="utf-8").splitlines()
_TABLES: dict[str, Any] = json.loads(_LINES[0])
_CASES: list[dict[str, Any]] = [json.loads(line) for line in _LINES[1:]]
_MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "1000",
    "table.exec.mini-batch.allow-latency": "100 s",
}


def _row(cells: list[str]) -> tuple[Any, ...]:
    return tuple(map(_cell, cells))


def _cell(text: str) -> str:
    """Doubles by their value: versions of Java write them with other digits."""
    try:
        return repr(float(text)) if "." in text or "E" in text else text
    except ValueError:
        return text


def _printed(text: str) -> list[list[str]]:
    lines = [line.strip("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")] for line in lines[1:]]


@pytest.mark.row("S-SQL-04")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["id"])
def test_the_digits_are_those_of_flink(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = case["mode"] == "batch"
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    with MiniCluster.in_process():
        tables = TableEnvironment.create(settings)
        for key, value in (_MINI_BATCH if case["mode"] == "mini-batch" else {}).items():
            tables.get_config().set(key, value)
        tables.get_config().set("parallelism.default", "1")
        for name, table in _TABLES.items():
            path = tmp_path / name
            path.write_text("\n".join([*table["lines"], ""]), encoding="utf-8")
            nulls = ", 'csv.null-literal' = ''" if table["format"] == "csv" else ""
            tables.execute_sql(
                f"CREATE TABLE {name} ({', '.join(table['columns'])}) WITH ('connector' = 'filesystem', "
                f"'path' = '{path}', 'format' = '{table['format']}'{nulls})"
            )
        capsys.readouterr()
        tables.sql_query(case["query"]).execute().print()
    found = _printed(capsys.readouterr().out)
    assert Counter(map(_row, found)) == Counter(map(_row, case["rows"]))
