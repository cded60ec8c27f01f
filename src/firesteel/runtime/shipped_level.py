"""A level's descriptor on its way to the tasks.

All tasks of a Spark stage are sent the same bytes. So what concerns one subtask is packed apart, and a task
unpacks its own part alone: a thousand tasks that each unpack what a thousand are told take seconds.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

from firesteel.runtime.program import LevelDescriptor, SubtaskDescriptor


def pack_level(descriptor: LevelDescriptor) -> bytes:
    parts: dict[int, dict[tuple[str, int], SubtaskDescriptor]] = {}
    for key, told in descriptor.subtasks.items():
        parts.setdefault(key[1], {})[key] = told
    packed = {subtask: pickle.dumps(part, 5) for subtask, part in parts.items()}
    return pickle.dumps((replace(descriptor, subtasks={}), packed), 5)


def unpack_level(data: bytes, subtask: int) -> LevelDescriptor:
    """The descriptor with what it says of one subtask (of each vertex of the level); of a task beyond them,
    nothing."""
    descriptor: LevelDescriptor
    descriptor, packed = pickle.loads(data)
    own = packed.get(subtask)
    return descriptor if own is None else replace(descriptor, subtasks=pickle.loads(own))
