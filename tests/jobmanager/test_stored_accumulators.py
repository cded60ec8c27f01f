"""Accumulators and metrics come back from a checkpoint, and go on from there."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from firesteel.jobmanager.checkpoints import accumulators as stored
from firesteel.runtime import metrics


class Own:
    """A user's accumulator."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, value: int) -> None:
        self.values.append(value)

    def get_local_value(self) -> list[int]:
        return self.values

    def reset_local(self) -> None:
        self.values = []

    def merge(self, other: Own) -> None:
        self.values += other.values


def used(kind: type[Any]) -> Any:
    if kind is metrics.Gauge:
        return metrics.Gauge(7)
    made = kind()
    for number in (3, 1, 3):
        (made.update if kind in (metrics.Distribution, metrics.Histogram) else made.add)(number)
    return made


KINDS = [kind for kind, _ in stored._STORED.values()] + [Own]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_it_comes_back_and_goes_on(kind: type[Any]) -> None:
    before = used(kind)
    data = stored.pack({"a": before})
    assert kind is Own or b"firesteel" not in data, "no class of ours by its module"
    (after,) = stored.unpack(data).values()
    assert type(after) is kind
    assert after.get_local_value() == before.get_local_value()
    after.merge(used(kind))
    before.merge(used(kind))
    assert after.get_local_value() == before.get_local_value()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_it_is_read_as_earlier_releases_have_pickled_it(kind: type[Any]) -> None:
    (after,) = stored.unpack(pickle.dumps({"a": used(kind)}, 5)).values()
    assert after.get_local_value() == used(kind).get_local_value()
