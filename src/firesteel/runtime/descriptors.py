"""Which descriptor a state may be asked for with."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.common._shown import shown
from firesteel.common.errors import StateError

D = TypeVar("D")


def require_descriptor(descriptor: Any, kind: type[D]) -> D:
    """Return the *descriptor*, which is of the kind of the state. Raises StateError."""
    if isinstance(descriptor, kind):
        return descriptor
    raise StateError(
        f"This state is asked for with a {kind.__name__}, not with a {type(descriptor).__name__}.",
        detail=f"got {shown(descriptor)}",
        hint="get_state, get_list_state, get_map_state, get_reducing_state and get_aggregating_state "
        "each take the descriptor of their own kind",
    )
