"""What holds a client between epochs closes it, whatever ends it."""

from __future__ import annotations

import gc
import pickle
from typing import Any

from firesteel.connectors._kept_client import KeptClient


class Client:
    """Says when nobody has closed it, as drivers of databases do."""

    def __init__(self, left_open: list[str], name: str = "first") -> None:
        self._left_open = left_open
        self._name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def __del__(self) -> None:
        if not self.closed:
            self._left_open.append(self._name)


def test_a_client_is_closed_when_it_is_dropped_or_replaced() -> None:
    kept, first, second = KeptClient(), Client([]), Client([])
    assert kept.keep(first) is first
    kept.keep(second)
    assert (first.closed, second.closed, kept.client) == (True, False, second)
    kept.drop()
    kept.drop()
    assert second.closed
    assert kept.client is None


def test_it_is_closed_before_it_goes_with_its_holder() -> None:
    left_open: list[str] = []
    for _ in range(20):
        client = Client(left_open)
        kept = KeptClient()
        kept.keep(client)
        # An operator and its chain know each other: they go when cycles are looked for, in any order.
        cycle: list[Any] = [kept, client]
        cycle.append(cycle)
        del kept, client, cycle
    gc.collect()
    assert left_open == []


def test_a_copy_holds_none() -> None:
    kept = KeptClient()
    kept.client = object()
    assert pickle.loads(pickle.dumps(kept)).client is None
