"""Records that pickle as a call of their class."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from firesteel.program.quick_pickle import quick_pickle


@quick_pickle
@dataclass(frozen=True, slots=True)
class One:
    value: Any


@quick_pickle
@dataclass(frozen=True, slots=True)
class Two:
    first: Any
    second: Any = 2


@dataclass(frozen=True, slots=True)
class More(Two):
    third: Any = 3


@pytest.mark.parametrize("record", [One((1, 2)), One(None), Two(1), Two(One("x"), [1]), More(1, 5, 7)])
def test_what_is_read_is_what_was_written(record: Any) -> None:
    copy = pickle.loads(pickle.dumps(record, 5))
    assert copy == record
    assert type(copy) is type(record)


def test_a_field_that_init_does_not_take_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Counted:
        count: int = field(default=0, init=False)

    with pytest.raises(TypeError, match="Counted"):
        quick_pickle(Counted)
