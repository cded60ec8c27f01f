"""Records that cannot leave their process, named in the error."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.common._shown import shown
from firesteel.common.errors import UnpicklableRecordError

#: What pickle raises for what it cannot take. What the ``__reduce__`` of a user's class raises is passed on.
REFUSALS: Final = (pickle.PicklingError, TypeError, AttributeError, RecursionError)


def unpicklable(
    records: Sequence[Any], dumps: Callable[[Any], object], error: Exception
) -> UnpicklableRecordError:
    """Return the error for the first of the *records* that *dumps* refuses; it refused all with *error*."""
    culprit = next((record for record in records if not _takes(dumps, record)), records[0])
    return UnpicklableRecordError(
        f"A record of type {type(culprit).__name__} cannot be sent to another process: {error}",
        detail=f"it begins {shown(culprit)}",
        hint="hand on plain data; a generator as list(...), a connection or a lock as what it is made from",
    )


def _takes(dumps: Callable[[Any], object], record: Any) -> bool:
    try:
        dumps(record)
    except REFUSALS:
        return False
    return True
