from __future__ import annotations

import collections
import datetime as dt
import enum
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from decimal import Decimal
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

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
    settled,
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


def _cycle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


class Drawn:
    """Another one each time that it is pickled."""

    def __getstate__(self) -> Any:
        return {"drawn": uuid.uuid4().hex}


class Failing:
    def __reduce__(self) -> Any:
        raise ValueError("not this one")


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (lambda: 0, "not found under its name"),
        ((x for x in ()), "cannot pickle 'generator' object"),
        (_cycle(), "contains itself"),
        ({"a": [_cycle()]}, "contains itself"),
        ((1, Drawn()), "what pickle writes of it changes"),
        (Failing(), "ValueError: not this one"),
        ((1, [Failing()]), "ValueError: not this one"),
    ],
)
def test_what_has_no_stable_pickled_form_is_refused(key: Any, reason: str) -> None:
    with pytest.raises(UnstableKeyError) as caught:
        canonical(key)
    assert caught.value.hint
    assert "cannot be a key" in caught.value.message
    assert reason in str(caught.value.detail)


def _nested(depth: int) -> list[Any]:
    return [_nested(depth - 1)] if depth > 1 else []


def test_lists_within_lists() -> None:
    assert raw_key(canonical(_nested(100))) == _nested(100)
    with pytest.raises(UnstableKeyError, match="nested too deeply"):
        canonical(_nested(101))
    assert canonical(_nested(100)), "one that is refused leaves nothing"


def test_what_contains_itself_is_found_far_from_the_limit_of_calls() -> None:
    """Near it finalizers fail, of whatever objects the garbage collector meets there."""
    cycle, limit = _cycle(), sys.getrecursionlimit()
    deepest = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal deepest
        depth, at = 0, frame
        while (before := at.f_back) is not None:
            depth, at = depth + 1, before
        deepest = max(deepest, depth)

    sys.setprofile(note)
    try:
        with pytest.raises(UnstableKeyError):
            canonical(cycle)
    finally:
        sys.setprofile(None)
    assert deepest < limit - 100


class Plain:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class ById(Plain):
    """Equal to each other by one attribute alone."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and self.id == other.id  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.id)  # type: ignore[attr-defined]


class Slotted:
    __slots__ = ("a", "b")


class Word(str):
    __slots__ = ()


class Names(set[str]):
    pass


class Bag(dict[str, int]):
    pass


class Series(list[int]):
    pass


class Access(enum.Flag):
    READ = 1
    WRITE = 2


def slotted(a: Any) -> Slotted:
    made = Slotted()
    made.a = a
    return made


SAME: list[tuple[Any, Any]] = [
    ([1, [2]], [1, [2]]),
    ({"a": 1, "b": []}, {"a": 1, "b": []}),
    ({"x", "y", "z"}, {"z", "y", "x"}),
    (bytearray(b"a"), bytearray(b"a")),
    (Mutable(1), Mutable(1)),
    (Plain(a=[1]), Plain(a=[1])),
    (ById(id=1, more=2), ById(id=1, more=2)),
    (slotted(1), slotted(1)),
    (Word("a"), Word("a")),
    (Names({"x", "y", "z"}), Names({"z", "y", "x"})),
    (Bag(a=1), Bag(a=1)),
    (Series([1, 2]), Series([1, 2])),
    (collections.Counter("aab"), collections.Counter({"a": 2, "b": 1})),
    (collections.deque([1, 2]), collections.deque([1, 2])),
    (Access.READ | Access.WRITE, Access.WRITE | Access.READ),
    (1j, 1j),
    (range(3), range(3)),
    (object(), object()),
    (np.array([1, 2]), np.array([1, 2])),
    (np.datetime64("2020-01-01", "ns"), np.datetime64("2020-01-01", "ns")),
    (int, int),
    (len, len),
    (Order(1, ["a"]), Order(1, ["a"])),  # type: ignore[arg-type]
    (("a", Plain(b={"c"})), ("a", Plain(b={"c"}))),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_objects_of_equal_pickled_form_are_one_key(one: Any, other: Any) -> None:
    name = canonical(one)
    assert name == canonical(other)
    assert type(raw_key(name)) is type(one)
    assert canonical(raw_key(name)) == name
    assert key_group(one, 128) == group_of_canonical(name, 128)


def test_objects_of_other_pickled_form_are_other_keys() -> None:
    """The order of a dict counts and equality does not, as with PyFlink."""
    keys = [
        *(one for one, _ in SAME),
        *([1, 2], [2, 1], (1, 2), {1, 2}, frozenset({1, 2}), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        *(b"a", "a", Mutable(2), Plain(a=1, b=2), Plain(b=2, a=1), ById(id=1, more=3), slotted(2)),
        *(Point(1, "a"), (1, "a"), Access.READ, np.datetime64("2020-01-01", "s")),
    ]
    assert len({canonical(key) for key in keys}) == len(keys)


def test_the_same_object_twice_is_as_two_equal_ones() -> None:
    inner, text = [1], "".join(["a", "b"])
    assert canonical((inner, inner)) == canonical(([1], [1]))
    assert canonical([text, text]) == canonical(["ab", "".join(["a", "b"])])


NUMPY: list[tuple[Any, Any]] = [
    (np.int64(5), 5),
    (np.uint8(5), 5),
    (np.float64(0.5), 0.5),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("a"), "a"),
    (np.bytes_(b"a"), b"a"),
    (np.complex128(1j), 1j),
]


@pytest.mark.parametrize(("scalar", "value"), NUMPY)
def test_a_numpy_scalar_is_its_python_value(scalar: Any, value: Any) -> None:
    assert canonical(scalar) == canonical(value)
    assert type(canonical(scalar)) is type(canonical(value))
    assert key_group(scalar, 128) == key_group(value, 128)
    (seen,) = settled([scalar], [canonical(scalar)])
    assert (type(seen), seen) == (type(value), value)
    ((_, (seen,)),) = settled([("x", (scalar,))], [canonical(("x", (scalar,)))])
    assert (type(seen), seen) == (type(value), value)


def test_keys_that_may_change_are_copied_and_others_are_not() -> None:
    plain = ["a", 1, None, ("a", (1.5, dt.date(2020, 1, 1))), Colour.RED]
    assert settled(plain, [canonical(key) for key in plain]) is plain
    for key in ([1], ("a", ([1],)), Plain(a=1)):
        (seen,) = settled([key], [canonical(key)])
        assert seen is not key
        assert canonical(seen) == canonical(key)


@pytest.mark.row("T17")
def test_key_groups_are_those_of_flink() -> None:
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


@pytest.mark.row("T17")
def test_key_groups_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from firesteel.state.keys import *\n"
        "import datetime\n"
        "keys = ['a', 'b', 7, 1.5, True, None, b'x', ('a', 1), datetime.date(2020, 1, 1), frozenset('abc')]\n"
        "keys += [set('abc'), {'a': set('xyz')}, Exception({'p', 'q', 'r'})]\n"
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
