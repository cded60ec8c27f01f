"""Kinds of state and operators from outside in Spark's worker processes."""

from __future__ import annotations

import pytest

from firesteel.common import Types
from tests.extending.first_of import FirstOf
from tests.extending.test_added_state import KeepSmallest, key_of
from tests.spark.conftest import MakeEnvironment

pytestmark = pytest.mark.spark


def test_workers_know_what_the_driver_has_registered(environment: MakeEnvironment) -> None:
    env = environment(2, epoch_records=3)
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    records = [("a", 5), ("b", 7), ("a", 3), ("a", 5), ("a", 4), ("b", 7)]
    once = env.from_collection(records, pair).key_by(str).transform("first of", pair, FirstOf(1000))
    low = once.key_by(key_of).process(KeepSmallest())
    found = list(low.execute_and_collect())
    assert len(found) == 4
    assert {("a", (3, 4)), ("b", (7,))} <= set(found)
