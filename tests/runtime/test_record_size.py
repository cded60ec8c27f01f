"""A record that no JVM could take is refused where it would cross an exchange."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, RecordTooLargeError

from .support import collect, environment

LIMIT = {"firesteel.exchange.max-record-size": "1 mb", "restart-strategy.type": "none"}


def sized(value: int) -> tuple[str, bytes]:
    return f"key {value}", bytes(2_000_000 if value == 7 else 900_000 if value == 5 else 10)


def size(record: tuple[str, bytes]) -> int:
    return len(record[1])


def test_a_record_above_the_limit_is_refused_with_operator_key_and_size() -> None:
    stream = environment(2, **LIMIT).from_collection(range(10)).map(sized).name("makes it")
    with pytest.raises(JobExecutionError) as failure:
        collect(stream.key_by(lambda v: v[0]).map(size))
    assert failure.value.operator == "makes it"
    assert isinstance(failure.value.__cause__, RecordTooLargeError)
    text = str(failure.value)
    assert "2,000," in text
    assert "'key 7'" in text
    assert "firesteel.exchange.max-record-size" in text
    assert len(text) < 10_000, "the record itself is not shown"


def test_a_record_without_a_key_is_shown_by_its_beginning() -> None:
    stream = environment(2, **LIMIT).from_collection(range(10)).map(sized).rebalance()
    with pytest.raises(JobExecutionError, match=r"a tuple; it begins \('key 7', b'\\x00"):
        collect(stream.map(size))


def test_what_is_below_the_limit_passes_among_others() -> None:
    numbers = [v for v in range(10) if v != 7]
    stream = environment(2, **LIMIT).from_collection(numbers).map(sized).key_by(lambda v: v[0])
    assert sorted(collect(stream.map(size))) == [10] * 8 + [900_000]


def test_a_record_that_stays_in_its_task_may_have_any_size() -> None:
    def bare(value: Any) -> Any:
        return value

    stream = environment(2, **LIMIT).from_collection(range(10)).map(sized).map(bare).map(size)
    assert 2_000_000 in collect(stream)
