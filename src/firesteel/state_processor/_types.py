"""Which types and windows the columns of a table have, from what is stored about a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.common._type_text import type_of_text
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types
from firesteel.runtime.windowing.codec import decode_time_window
from firesteel.state._migration import part_type
from firesteel.state.catalog import CatalogEntry
from firesteel.state.kinds import kind_of
from firesteel.state.rows import StoredRow
from firesteel.state_processor._columns import ColumnOf

_LONG: Final = Types.LONG()

# ---- types


def declared_type(text: str) -> TypeInformation | None:
    return known_type(type_of_text(text)) if text else None


def known_type(type_info: TypeInformation | None) -> TypeInformation | None:
    """None for any object."""
    return None if isinstance(type_info, PickledBytesTypeInfo) else type_info


def chosen_type(
    asked: TypeInformation | None, declared: TypeInformation | None, what: str
) -> TypeInformation | None:
    """The type of a column: the declared one; where none was declared the one that was asked for."""
    if asked is None or known_type(asked) is None:
        return declared
    if declared is not None and declared != asked:
        raise ProgramError(
            f"{what[0].upper()}{what[1:]} are of type {declared}, not {asked}.",
            hint="leave the type out where the job has declared it",
        )
    return asked


def value_type_of(state: CatalogEntry, asked: TypeInformation | None) -> TypeInformation | None:
    part = chosen_type(asked, known_type(part_type(state, state.type)), f"the values of state {state.name!r}")
    declared = type_of_text(state.type) if state.type else None
    return None if part is None else kind_of(state).row_type(declared, part)


# ---- windows


def no_window(row: StoredRow) -> tuple[Any, ...]:
    return ()


def window_columns(
    state: CatalogEntry,
) -> tuple[tuple[ColumnOf, ...], Callable[[StoredRow], tuple[Any, ...]]]:
    """The columns that say which window a row belongs to, and what they hold."""
    if state.window.startswith("TimeWindow") or kind_of(state).time_windows:
        return (ColumnOf("window_start", _LONG), ColumnOf("window_end", _LONG)), _time_window
    if state.window or not state.key:  # others, or it was not recorded what they are
        return (ColumnOf("window", Types.PRIMITIVE_ARRAY(Types.BYTE())),), lambda row: (row.window,)
    return (), no_window


def _time_window(row: StoredRow) -> tuple[Any, ...]:
    if row.window is None:
        return None, None
    if isinstance(row.window, bytes):
        window = decode_time_window(row.window)
        return window.start, window.end
    return row.window
