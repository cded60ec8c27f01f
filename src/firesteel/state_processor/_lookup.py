"""One key of a keyed state, read here and now."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.key_groups import key_group_range, subtask_of
from firesteel.program.state.descriptors import StateDescriptor
from firesteel.state.keys import key_group
from firesteel.state.reader import StateReader, is_keyed
from firesteel.state_processor._snapshot import FILES, StoredOperator


def value_of_key(operator: StoredOperator, now_ms: int, state: str | StateDescriptor, key: Any) -> Any:
    """See ``SavepointReader.value``. ``now_ms``: processing time, for states with a time to live."""
    descriptor = None if isinstance(state, str) else state
    entry = operator.keyed_state(state if isinstance(state, str) else state.get_name())
    if not is_keyed(entry):
        raise ProgramError(
            f"State {entry.name!r} of operator {operator.entry.name!r} belongs to windows.",
            hint="read it with window(...), or all of it with keyed_state(...)",
        )
    widest, width = operator.max_parallelism, len(operator.lines)
    subtask = subtask_of_key(key, widest, width)
    reader = StateReader(
        operator.lines[subtask],
        FILES,
        max_parallelism=widest,
        key_groups=key_group_range(widest, width, subtask),
        now_ms=now_ms,
    )
    return reader.keyed(entry, descriptor, key)


def subtask_of_key(key: Any, max_parallelism: int, parallelism: int) -> int:
    return subtask_of(key_group(key, max_parallelism), max_parallelism, parallelism)
