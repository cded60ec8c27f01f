"""Pickling of records and of the user's functions.

Records go through plain pickle (protocol 5, a whole block at a time). A class of the ``__main__`` script, or
one that is defined in a function, does not exist in another process under its name: such blocks go through
cloudpickle, which ships the class with them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle

from firesteel.program.unpicklable import REFUSALS, unpicklable


def dumps_block(records: list[Any]) -> bytes:
    """One block of records as bytes for another process. Raises UnpicklableRecordError."""
    try:
        return _dumps(records)
    except REFUSALS as error:
        raise unpicklable(records, _dumps, error) from error


def _dumps(value: Any) -> bytes:
    try:
        data = pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return bytes(cloudpickle.dumps(value, protocol=5))
    if b"__main__" in data:  # a reference by name, or (harmless) text that says so
        return bytes(cloudpickle.dumps(value, protocol=5))
    return data


def loads_block(data: bytes) -> list[Any]:
    records: list[Any] = pickle.loads(data)
    return records


class Shipped:
    """A callable of the user's that any pickler can take: the code travels by value."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_shipped, (cloudpickle.dumps(self.function, protocol=5),)


def _load_shipped(code: bytes) -> Shipped:
    return Shipped(pickle.loads(code))
