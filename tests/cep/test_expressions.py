"""Conditions as text."""

from __future__ import annotations

from collections import namedtuple
from decimal import Decimal
from typing import Any

import pytest

from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.expressions import IterativeExpressionCondition, expression_condition
from firesteel.common import Row

Payment = namedtuple("Payment", ["amount", "country"])
EVENT = {
    "amount": 7,
    "country": "DE",
    "price": Decimal("1.5"),
    "tags": ["a", "b"],
    "to": {"city": "Ulm"},
    "nothing": None,
}


@pytest.mark.parametrize(
    "text",
    [
        "amount > 5",
        "5 < amount <= 7",
        "amount == 7 and not country != 'DE'",
        "amount > 9 or country in ['DE', 'FR']",
        "country not in ('FR',)",
        "amount * 2 - 4 == 10 and amount % 2 == 1 and amount / 2 == 3.5 and -amount == -7",
        "price * 2 == 3",
        "to.city == 'Ulm'",
        "to['city'] == 'Ulm' and tags[0] == 'a' and tags[-1] == 'b'",
        "len(tags) == 2 and abs(amount - 10) == 3 and lower(country) == 'de'",
        "missing is None and nothing is None and amount is not None",
        "to.street.number is None and tags[5] is None",
        "missing != 5",
        "event['amount'] == 7",
        "True",
    ],
)
def test_holds(text: str) -> None:
    assert expression_condition(text).filter(EVENT) is True  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "text",
    [
        "missing > 5",
        "missing <= 5",
        "country > 5",
        "country in missing",
        "missing + 1 == 1",
        "country * 3 == 'DEDEDE'",
        "amount / 0 == 0",
        "keys",
        "len(amount) == 1",
        "to['city'][9] == 'x'",
        "False",
    ],
)
def test_does_not_hold(text: str) -> None:
    assert expression_condition(text).filter(EVENT) is False  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "event", [Payment(9, "FR"), Row(amount=9, country="FR"), {"amount": 9, "country": "FR"}]
)
def test_fields_of_objects_rows_and_mappings(event: Any) -> None:
    holds = expression_condition("amount == 9 and country == 'FR' and count is None").filter
    assert holds(event)  # type: ignore[call-arg]


def test_events_that_are_no_records() -> None:
    assert expression_condition("event > 3").filter(4)  # type: ignore[call-arg]
    assert expression_condition("event[1] == 'b'").filter(("a", "b"))  # type: ignore[call-arg]


def test_events_of_the_match_so_far() -> None:
    class Context:
        def get_events_for_pattern(self, name: str) -> list[Any]:
            return {"rise": [{"price": 1}, {"price": 4}]}.get(name, [])

    condition = expression_condition(
        "price > last('rise').price > first('rise').price and count('rise') == 2 and first('no') is None"
    )
    assert isinstance(condition, IterativeExpressionCondition)
    assert condition.stages == {"rise", "no"}
    assert condition.filter({"price": 5}, Context())  # type: ignore[arg-type]
    assert not condition.filter({"price": 4}, Context())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "amount >",
        "amount = 5",
        "__import__('os').system('true')",
        "event.__class__",
        "_private == 1",
        "open('/etc/passwd')",
        "lower(country, 1)",
        "lower(x=country)",
        "country.lower()",
        "(lambda: 1)()",
        "[x for x in tags]",
        "[amount]",
        "2 ** 99",
        "1 << 99",
        "f'{amount}'",
        "amount is 7",
        "tags[amount]",
        "tags[-'a']",
        "last(5) == 1",
        "last(rise) == 1",
        "b'x' == 1",
        "amount if amount else 1",
        "(x := 5) > 1",
        "~amount == 1",
        "not " * 40 + "amount",
        "(" * 500 + "1" + ")" * 500,
        "a" * 3000,
        "amount > 1\0",
    ],
)
def test_what_is_not_in_the_language_is_refused(text: str) -> None:
    with pytest.raises(MalformedPatternError):
        expression_condition(text)
