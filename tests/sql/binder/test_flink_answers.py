"""What Flink 2.3.0 answers to queries: the schema of the result, or the message. Recorded from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import FiresteelError
from tests.sql import support

CASES = json.loads(Path(__file__).with_name("flink_answers.json").read_text())
CATALOG = support.catalog()
_ATTRIBUTE = re.compile(r" \*(ROWTIME|PROCTIME)\*")


def _text(sql: str) -> str:
    row = support.bind(CATALOG, sql).row
    return ", ".join(f"{f.name}: {f.data_type}" for f in row.fields)


@pytest.mark.parametrize("case", [c for c in CASES if "schema" in c], ids=lambda c: c["sql"][:60])
def test_schema(case: dict[str, Any]) -> None:
    """Names and types are Flink's; what a function computes has no time attribute here, while Flink drops
    it later."""
    expected, given = case["schema"], _text(case["sql"])
    if case.get("attributes_of_computed_columns"):
        expected, given = _ATTRIBUTE.sub("", expected), _ATTRIBUTE.sub("", given)
    assert given == expected


@pytest.mark.parametrize("case", [c for c in CASES if "error" in c], ids=lambda c: c["sql"][:60])
def test_message(case: dict[str, Any]) -> None:
    """The message begins as Flink's, with the same place."""
    with pytest.raises(FiresteelError) as raised:
        support.bind(CATALOG, case["sql"])
    assert raised.value.message.startswith(case["error"])
