"""Parts of a VARIANT: those of an object have keys, those of an array numbers."""

from __future__ import annotations

import pytest

from firesteel.sql.context import EvaluationError
from tests.sql.functions.evaluating import value


@pytest.mark.row("S-SQL-05")
@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("PARSE_JSON('{\"k\": [7, 8]}')['k'][2]", "8"),
        ("PARSE_JSON('{\"k\": 1}')['other']", None),
        ("PARSE_JSON('[1]')[0]", None),
        ("PARSE_JSON('[1]')[2]", None),
        ("PARSE_JSON(CAST(NULL AS STRING))['k']", None),
    ],
)
def test_parts(expression: str, found: str | None) -> None:
    assert value(f"JSON_STRING({expression})") == found


@pytest.mark.parametrize("text", ["[1]", "1", '"k"'])
def test_only_an_object_has_keys(text: str) -> None:
    with pytest.raises(EvaluationError, match="String key access on variant requires an object variant"):
        value(f"PARSE_JSON('{text}')['k']")


@pytest.mark.parametrize("text", ['{"1": 2}', "1", '"k"'])
def test_only_an_array_has_numbered_items(text: str) -> None:
    with pytest.raises(EvaluationError, match="Integer index access on variant requires an array variant"):
        value(f"PARSE_JSON('{text}')[1]")
