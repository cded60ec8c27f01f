from __future__ import annotations

import datetime as dt
import enum
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common.errors import StateError, UnstableKeyError
from firesteel.common.types import Row, RowKind
from firesteel.state.keys import (
    NO_KEY,
    canonical,
    decode_key,
    encode_key,
    group_of_canonical,
    key_group,
    key_group_range,
    raw_key,
    split_canonical,
    subtask_of,
    with_namespace,
)


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: str


@dataclass(frozen=True)
class Order:
    id: int
    parts: tuple[str, ...]


@dataclass
class Mutable:
    id: int


ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(codec=None)),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.uuids(),
)
#: Where the length of an int takes more than a byte.
LARGE = [sign * 2**bits + off for sign in (1, -1) for bits in (1006, 1007, 1008, 5000) for off in (-1, 0, 1)]
KEYS = st.recursive(ATOMS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


@given(KEYS)
def test_typed_bytes_are_reversible(key: Any) -> None:
    again = decode_key(encode_key(key))
    assert again == key
    assert type(again) is type(key)
    assert repr(again) == repr(key)


@given(KEYS, KEYS)
def test_only_keys_that_look_alike_share_their_bytes(one: Any, other: Any) -> None:
    assert (encode_key(one) == encode_key(other)) == (repr(one) == repr(other))
    assert (canonical(one) == canonical(other)) == (repr(one) == repr(other))


@given(st.lists(st.integers() | st.integers(-300, 300) | st.sampled_from(LARGE)))
def test_the_bytes_of_ints_are_in_the_order_of_the_ints(numbers: list[int]) -> None:
    assert sorted(numbers, key=encode_key) == sorted(numbers)


@given(st.lists(st.text(st.characters(codec=None))))
def test_the_bytes_of_text_are_in_the_order_of_the_text(texts: list[str]) -> None:
    assert sorted(texts, key=encode_key) == sorted(texts)


@pytest.mark.parametrize(
    "key",
    [
        *LARGE,
        Colour.RED,
        Point(1, "a"),
        Order(7, ("a", "b")),
        frozenset({1, "a", 2.5}),
        (Point(1, "b"), (None, Colour.RED)),
        dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        uuid.UUID(int=5),
        Decimal("1.10"),
        "x" * 1000,
        (("y" * 300,),),
    ],
)
def test_composite_keys_are_reversible(key: Any) -> None:
    again = decode_key(encode_key(key))
    assert again == key
    assert type(again) is type(key)


def test_a_row_is_a_key_with_its_names_and_kind() -> None:
    row = Row(name="a", age=2)
    row.set_row_kind(RowKind.DELETE)
    again = decode_key(encode_key(row))
    assert again == row
    assert again.name == "a"
    assert again.get_row_kind() is RowKind.DELETE
    assert encode_key(Row(1, 2)) != encode_key(Row(2, 1))
    assert decode_key(encode_key(Row(1, (2, "x")))) == Row(1, (2, "x"))


def test_one_true_and_one_point_zero_are_three_keys() -> None:
    keys = [1, 1.0, True, "1", b"1", Decimal(1), (1,), (1.0,)]
    assert len({encode_key(key) for key in keys}) == len(keys)
    assert len({canonical(key) for key in keys}) == len(keys)
    assert all(encode_key(raw_key(canonical(key))) == encode_key(key) for key in keys)


@pytest.mark.parametrize("key", [[1], {"a": 1}, {1}, Mutable(1), object(), (1, [2]), bytearray(b"a"), len])
def test_what_may_change_is_refused(key: Any) -> None:
    with pytest.raises(UnstableKeyError) as caught:
        canonical(key)
    assert caught.value.hint
    assert "cannot be a key" in caught.value.message


def test_key_groups_are_those_of_flink() -> None:
    """T17."""
    assert [key_group(key, 128) for key in ("a", "b", "c")] == [81, 22, 62]
    assert [subtask_of(key_group(key, 128), 128, 3) for key in ("a", "b", "c")] == [1, 0, 1]
    # Long.hashCode gives the low and the high half of the bits together
    assert key_group(1, 128) == key_group(1 << 32, 128)
    assert key_group(-1, 128) == key_group(0, 128)
    assert [key_group_range(128, 4, i) for i in range(4)] == [
        range(32),
        range(32, 64),
        range(64, 96),
        range(96, 128),
    ]


def test_hash_of_long_and_of_wide_text() -> None:
    from firesteel.state.keys import key_hash

    def java(text: str) -> int:
        value = 0
        units = text.encode("utf-16-be", "surrogatepass")
        for at in range(0, len(units), 2):
            value = (value * 31 + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
        return value

    for text in ("", "hello", "z" * 64, "z" * 65, "abc" * 200, "ümlaut", "smile \U0001f600", "\ud800"):
        assert key_hash(text) == java(text)
    assert key_hash("hello") == 99162322  # "hello".hashCode() in Java


@given(KEYS, st.sampled_from([1, 128, 32768]))
def test_key_groups_are_in_range_and_of_the_canonical_key(key: Any, max_parallelism: int) -> None:
    group = key_group(key, max_parallelism)
    assert 0 <= group < max_parallelism
    assert group_of_canonical(canonical(key), max_parallelism) == group


def test_key_groups_do_not_depend_on_the_hash_seed() -> None:
    """T17."""
    program = (
        "from firesteel.state.keys import *\n"
        "import datetime\n"
        "keys = ['a', 'b', 7, 1.5, True, None, b'x', ('a', 1), datetime.date(2020, 1, 1), frozenset('abc')]\n"
        "print([(key_group(k, 128), encode_key(k)) for k in keys])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert found.pop().startswith("[(81, ")


def test_a_namespace_keeps_the_key_group() -> None:
    for key in ("a", 5, (1, "x"), None):
        name = with_namespace(canonical(key), b"window")
        assert group_of_canonical(name, 128) == key_group(key, 128)
        assert split_canonical(name) == (canonical(key), b"window")
        assert split_canonical(canonical(key)) == (canonical(key), None)
    assert with_namespace("a", b"bc") != with_namespace("ab", b"c")


def test_no_key_refuses_to_be_used() -> None:
    with pytest.raises(StateError, match="no current key"):
        {}.get(NO_KEY)
