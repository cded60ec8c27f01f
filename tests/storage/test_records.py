"""What the engine stores in checkpoints is data under names that last, and what it stored before is read."""

from __future__ import annotations

import importlib
import pickle
import pickletools
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from firesteel.common.errors import StateError
from firesteel.connectors.rabbitmq.source import Place
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.window import TimeWindow
from firesteel.sql.connectors.columns_source import _Stored
from firesteel.state._key_codec import decode_key, encode_key
from firesteel.state._value_codec import decode_value
from firesteel.storage import old_names, records
from tests.storage.examples import EXAMPLES

OLD = Path(__file__).parents[1] / "data" / "records-0.1.0.pickle"
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.text(), st.integers()), inner)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.tuples(st.text()))
    ),
)


#: Examples of classes that the first release did not have, so that its pickle does not hold them.
LATER = [
    _Stored(3, b"an Arrow file", None),
    _Stored(70_000, None, "/blobs/rows"),
    Place(7, {"id": 6}, ("gone",)),
]


def classes_in(value: Any) -> set[type]:
    """Those of the records in a value."""
    found = {type(value)} if type(value) in records._by_class else set()
    if type(value) in (list, set, frozenset) or isinstance(value, tuple):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    else:
        parts = [getattr(value, name) for name in getattr(type(value), "__dataclass_fields__", ())]
    return found.union(*map(classes_in, parts))


def kinds(value: Any) -> Any:
    """The types in a value."""
    if isinstance(value, dict):
        return dict, [(kinds(k), kinds(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [kinds(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return type(value), {v: kinds(v) for v in value}
    return type(value)


@given(PLAIN)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    data = records.pack(value)
    back = records.unpack(data)
    assert back == value
    assert kinds(back) == kinds(value), "True is not 1, and a tuple is no list"


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_of_a_surrogate_pair_comes_back(text: str) -> None:
    assert records.unpack(records.pack([text])) == [text]


@pytest.mark.parametrize("value", [*EXAMPLES, *LATER], ids=lambda value: type(value).__qualname__)
def test_records_come_back_and_name_no_class(value: Any) -> None:
    data = records.pack(value)
    assert records.unpack(data) == value
    assert type(records.unpack(data)) is type(value)
    assert b"firesteel" not in data


def test_every_class_with_a_stored_name_has_an_example() -> None:
    """Else nobody would see that it cannot be stored, or that its fields changed."""
    named = {kind.cls for kind in records._by_name.values() if kind.cls.__module__.startswith("firesteel.")}
    of_others = {cls for cls in named if cls.__module__.endswith(".accumulators")}
    assert named - classes_in(EXAMPLES) - classes_in(LATER) == of_others


def test_what_the_first_release_pickled_is_what_it_was() -> None:
    data = OLD.read_bytes()
    names = [arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, str)]
    assert "_SplitProgress" in names, "the pickle is of that time"
    assert records.unpack(data) == EXAMPLES


def test_names_that_have_moved_lead_to_what_is_there() -> None:
    for new in old_names.MODULES.values():
        assert importlib.import_module(new)
    for (module, old), new in old_names.NAMES.items():
        assert old_names.find(module, old) is old_names.find(module, new)


def test_an_object_of_a_user_may_hold_classes_of_ours_that_have_moved() -> None:
    """A window, as the first release pickled it."""
    data = (
        b"\x80\x05\x95M\x00\x00\x00\x00\x00\x00\x00\x8c\x1dfiresteel.datastream._windows\x94\x8c\nTimeWindow"
        b"\x94\x93\x94)\x81\x94N}\x94(\x8c\x03end\x94K\x02\x8c\x05start\x94K\x01u\x86\x94b."
    )
    assert decode_value(data) == TimeWindow(1, 2)


def test_a_key_has_the_same_bytes_wherever_its_class_is_now() -> None:
    data = encode_key((TimeDomain.EVENT_TIME, 1))
    assert b"firesteel.datastream.time_domain" in data
    assert decode_key(data) == (TimeDomain.EVENT_TIME, 1)


# ---- objects of users, and what cannot be


class Users(NamedTuple):
    a: int


def test_objects_of_users_are_pickled() -> None:
    made = records.unpack(records.pack({"x": [Users(1)]}))
    assert made == {"x": [Users(1)]}
    assert type(made["x"][0]) is Users


def test_a_class_that_no_module_has_travels_by_value() -> None:
    @dataclass
    class Local:
        a: int

    assert records.unpack(records.pack((Local(3),)))[0].a == 3


def test_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(StateError, match=r"A value of type _?thread.* cannot be stored"):
        records.pack({"lock": __import__("threading").Lock()})


# ---- releases


@pytest.fixture
def forgotten() -> Any:
    """What a test gives a name is forgotten."""
    before = dict(records._by_name), dict(records._by_class)
    yield
    for table, content in zip((records._by_name, records._by_class), before, strict=True):
        table.clear()  # type: ignore[attr-defined]
        table.update(content)  # type: ignore[attr-defined]


def named(name: str, cls: Any) -> Any:
    records._by_name.pop(name, None)
    return records.record(name)(cls)


def test_a_class_may_move_and_get_fields(forgotten: None) -> None:
    @dataclass
    class Earlier:
        a: int

    @dataclass
    class Later:
        renamed: int
        new: str = "usual"

    data = records.pack(named("example", Earlier)(5))
    later = named("example", Later)
    assert records.unpack(data) == later(5)
    with_new = records.pack(later(6, "other"))
    named("example", Earlier)
    with pytest.raises(StateError, match="A stored 'example' has 2 fields, this release knows 1"):
        records.unpack(with_new)


def test_a_name_that_nobody_knows_is_told(forgotten: None) -> None:
    class Only(Enum):
        ONE = 1

    data = records.pack(named("only here", Only).ONE)
    del records._by_name["only here"]
    with pytest.raises(StateError, match="holds a 'only here', which nothing that is imported knows"):
        records.unpack(data)


def test_two_classes_cannot_have_one_name(forgotten: None) -> None:
    with pytest.raises(ValueError, match="two classes are stored as 'split'"):
        records.record("split")(Users)


def test_data_of_another_kind_is_refused() -> None:
    with pytest.raises(StateError, match="a form that this release does not know"):
        records.unpack(b"\x01\x02\x90")
    with pytest.raises(StateError, match="a form that this release does not know"):
        records.unpack(b"")


def test_a_pickle_of_a_class_that_is_gone_says_which() -> None:
    data = pickle.dumps(Users(1), 5).replace(b"Users", b"Gone!")
    with pytest.raises(AttributeError, match="Gone!"):
        records.unpack(data)
