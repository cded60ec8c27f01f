"""The key of rows that travel as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.program.quick_pickle import quick_pickle

__all__ = ["ColumnKeys"]


@quick_pickle
@dataclass(frozen=True, slots=True)
class ColumnKeys:
    """The key selector of a stream of columns: the key of a row is made of the columns at *indices*; of none:
    all rows have one key. Routers and operators hash the columns; it is never called for a row."""

    indices: tuple[int, ...]

    def __call__(self, value: Any) -> Any:
        raise ProgramError(
            "A stream of columns is keyed by its columns.",
            detail=f"a row was to be keyed by {self.indices}",
            hint="convert rows to columns before the exchange",
        )
