"""What operators remember between epochs, after a change of parallelism.

Watermarks, idle splits and the end of inputs are no state: they are carried from epoch to epoch
(``SubtaskDescriptor.carry``). When a job goes on with other subtasks, each of them gets what all old subtasks
of its vertex remembered (``SubtaskDescriptor.moved``), and its operators make their own of that
(``BaseOperator.take_over``). Splits are dealt out again, each with what was known of its watermarks. Channels
are others, so gates and routers begin anew, and sources say again in the first epoch how far they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from firesteel.storage import records

#: In the place of what a valve remembers: a source is to say again how far its splits are.
ANEW: Final = None


def packed(carries: Iterable[bytes | None]) -> bytes:
    """What all subtasks of a vertex remembered: operator -> the different ones."""
    found: dict[str, list[Any]] = {}
    for carry in carries:
        if carry is None:
            continue
        for uid, remembered in records.unpack(carry).items():
            if isinstance(uid, str):  # not of gates and routers
                known = found.setdefault(uid, [])
                if remembered not in known:
                    known.append(remembered)
    return records.pack(found)


def unpacked(moved: bytes | None) -> Mapping[str, Sequence[Any]]:
    return records.unpack(moved) if moved else {}


def dealt_splits(
    uid: str, carries: Iterable[bytes | None], splits: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """What each new subtask of a source begins with.

    :param carries: of all old subtasks.
    :param splits: those that each new one reads.
    """
    trackers: dict[str, Any] = {}
    for carry in carries:
        remembered = records.unpack(carry).get(uid) if carry else None
        if remembered is not None:
            trackers |= remembered[1]
    return [{uid: (ANEW, {s: trackers[s] for s in mine if s in trackers}, False)} for mine in splits]
