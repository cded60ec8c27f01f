"""1,479 expressions of Flink's tests and others with odd input, and what Flink 2.3 gives for them: type,
value, NULL, or an error.

The recorded answers are in ``tests/sql/data``. Each that we do not give is listed here with its reason.
"""

from __future__ import annotations

import csv
import json
from functools import lru_cache
from typing import Any, Final

import pytest

from firesteel.common.errors import FiresteelError
from tests.sql.functions.evaluating import DATA, Row, bind, row_of, text, type_text

_KEYS = "Arrow's maps have no NULL as a key"
_ORDER = "the entries of a map have no order; Flink's come in that of a hash table"
_DIGIT = "Java's function differs in the last digit"
_RANGE = "Arrow's timestamps of nanoseconds begin in 1677"
#: id of an expression -> why its value is another one here
VALUES: Final = {
    "1006": _KEYS,
    "1011": _ORDER,
    "1743": "the same number; before version 19 Java wrote more digits than were needed",
    "1750": _DIGIT,
    "1774": _DIGIT,
    "2265": _RANGE,
}
_EARLY = "refused when the query is planned; Flink derives a type and fails when it makes code of it"
#: id of an expression -> why its type is not derived here
TYPES: Final = {
    **dict.fromkeys(("266", "268", "269", "270"), _EARLY),
    **dict.fromkeys(("1095", "1126", "1140", "1154", "1155", "1168", "1169", "1182"), _EARLY),
    **dict.fromkeys(("1252", "1254", "1256", "1257", "1266", "1268", "1270", "1271", "1272"), _EARLY),
}


def _cases() -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for name in ("functions.csv", "functions_odd_input.csv"):
        # newline="": a carriage return in a result is one
        with (DATA / name).open(newline="", encoding="utf-8") as file:
            found += csv.DictReader(file)
    return found


@lru_cache(maxsize=1)
def _contexts() -> dict[str, str]:
    found: dict[str, str] = json.loads((DATA / "function_contexts.json").read_text(encoding="utf-8"))
    return found


@lru_cache(maxsize=256)
def _row(context: str) -> Row:
    return row_of(_contexts()[context]) if context else Row()


def _given(case: dict[str, str]) -> tuple[str, Any]:
    """The derived type ('' if the call is refused), and the text of the value or an error."""
    try:
        row = _row(case["context"])
        expression = bind(case["sql"], row)
        derived = type_text(expression)
    except FiresteelError as error:
        return "", error
    try:
        found = text(case["sql"], row)
    except FiresteelError as error:
        return derived, error
    if found is None and not expression.type.nullable:
        return derived, ValueError("NULL where the type is NOT NULL: the sink refuses it")
    return derived, found


def _agrees(case: dict[str, str], given: Any) -> bool:
    if case["status"].startswith("error"):
        return isinstance(given, Exception)
    return bool(given == (None if case["status"] == "null" else case["result"]))


CASES: Final = _cases()
GROUPS: Final = sorted({c["group"] for c in CASES})


@pytest.mark.parametrize("group", GROUPS)
def test_expressions_give_what_flink_gives(group: str) -> None:
    wrong: list[str] = []
    for case in (c for c in CASES if c["group"] == group):
        derived, given = _given(case)
        if _agrees(case, given) != (case["id"] not in VALUES):
            wrong.append(f"{case['id']}: {case['sql']} is {case['status']} {case['result']!r}, not {given!r}")
        typed = case["status"] == "error:validation" or derived == case["type"]
        if typed != (case["id"] not in TYPES):
            wrong.append(f"{case['id']}: {case['sql']} is of type {case['type']}, not {derived}")
    assert not wrong, "\n".join(wrong)


def test_few_expressions_are_different() -> None:
    assert len(CASES) > 2200
    assert len(VALUES) <= len(CASES) * 0.02
    assert len(TYPES) <= len(CASES) * 0.02
