"""What a job that runs keeps, as of its last committed epoch, with keys and values as JSON.

A *look* is a function that ``JobGateway.look`` has called beside the job's own thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from firesteel.jobmanager.committed import CommittedCut
from firesteel.state.manifest import SubtaskEntry, VertexEntry
from firesteel.state_processor._identifier import OperatorIdentifier
from firesteel.state_processor._info import StateInfo
from firesteel.state_processor._lookup import subtask_of_key, value_of_key
from firesteel.state_processor._snapshot import StoredOperators

__all__ = ["key_of_text", "look_at_key", "look_at_states", "value_shown"]

_WHERE: Final = "The job"


def look_at_states(cut: CommittedCut) -> tuple[int, list[StateInfo]]:
    """The epoch, and the states of all operators."""
    return cut.epoch, StoredOperators(cut.vertices, _WHERE).states()


def look_at_key(operator: str, state: str, key: str) -> Callable[[CommittedCut], tuple[int, Any]]:
    """A look for the epoch, and what a keyed state holds for a key, as ``value_shown`` has it.

    :param operator: the uid of the operator, or its id.
    :param key: as ``key_of_text`` has it.
    """

    wanted, raw = OperatorIdentifier.of_text(operator), key_of_text(key)

    def look(cut: CommittedCut) -> tuple[int, Any]:
        own = [_of_key(v, raw) for v in cut.vertices if any(o.id == wanted.id for o in v.operators)]
        stored = StoredOperators(own, _WHERE).by_id.get(wanted.id)
        if stored is None or not stored.has(state):  # there is none, or none yet where the key is
            stored = StoredOperators(cut.vertices, _WHERE).find(wanted)
        return cut.epoch, value_shown(value_of_key(stored, cut.now_ms, state, raw))

    return look


def _of_key(vertex: VertexEntry, key: Any) -> VertexEntry:
    """The vertex with the state of that subtask alone which has the key: no other is read."""
    own = subtask_of_key(key, vertex.max_parallelism, vertex.parallelism)
    subtasks = tuple(s if i == own else SubtaskEntry() for i, s in enumerate(vertex.subtasks))
    return replace(vertex, subtasks=subtasks)


def key_of_text(text: str) -> Any:
    """A key that is JSON, a list for a tuple; or else the text itself.

    >>> key_of_text('["a", 1]'), key_of_text("a"), key_of_text("1")
    (('a', 1), 'a', 1)
    """
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return _tuple(found)


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def value_shown(value: Any) -> Any:
    """As JSON has it: a map with other keys than texts is a list of pairs, any other object its ``repr``.

    >>> value_shown({1: ("a", b"b")})
    [[1, ['a', "b'b'"]]]
    """
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: value_shown(item) for key, item in value.items()}
        return [[value_shown(key), value_shown(item)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [value_shown(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
