"""How a value of the user's is shown in an error: short, and whatever its ``__repr__`` does."""

from __future__ import annotations

import reprlib
from typing import Any


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value) if len(value) <= self.maxother else f"{value[: self.maxother]!r}..."

    repr_bytearray = repr_bytes


_short = _Short()


def shown(value: Any) -> str:
    """Return the beginning of ``repr(value)``, or what its class is when that raises."""
    try:
        return _short.repr(value)
    except BaseException as error:  # of the user's __repr__
        return f"a {type(value).__name__} whose repr() raises {type(error).__name__}"
