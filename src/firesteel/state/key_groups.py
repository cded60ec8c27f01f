"""The key groups of many keys at once, and the subtasks that own them: as columns where that pays.

A key that is seen for the first time costs some microseconds alone, and a tenth of that among others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from firesteel.state.keys import group_of_canonical, subtask_of

__all__ = ["KeyTargets", "groups_of"]

#: As many make a column worth its making.
_TOGETHER: Final = 64


def groups_of(keys: Sequence[str | int | bytes], max_parallelism: int) -> list[int]:
    """The key groups of canonical keys, in their order."""
    if len(keys) >= _TOGETHER:
        codes = _codes_of_column(keys)
        if codes is not None:
            from firesteel.state.column_keys import column_groups

            groups: list[int] = column_groups(codes, max_parallelism).tolist()
            return groups
    return [group_of_canonical(key, max_parallelism) for key in keys]


def _codes_of_column(keys: Sequence[str | int | bytes]) -> Any:
    """The hash codes of keys that make a column of texts or of 64-bit integers; None: they make none."""
    kind = type(keys[0])
    if kind is bytes or any(type(key) is not kind for key in keys):
        return None
    # Imported here: with them comes NumPy, and a program with few keys does without.
    import pyarrow as pa

    from firesteel.state.column_keys import hash_codes

    try:
        column = pa.array(keys, pa.string() if kind is str else pa.int64())
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):  # a lone surrogate, more than 64 bits
        return None
    return hash_codes([column], len(column))


class KeyTargets(dict[str | int | bytes, int]):
    """Canonical key -> the subtask that owns it, worked out once for each key of a process; ``of`` gives the
    shared one.

    It starts again when it holds ``LIMIT`` keys: it is only there to save time.
    """

    LIMIT = 2_000_000
    _shared: dict[tuple[int, int], KeyTargets] = {}

    def __init__(self, max_parallelism: int, parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism

    @classmethod
    def of(cls, max_parallelism: int, parallelism: int) -> KeyTargets:
        name = max_parallelism, parallelism
        targets = cls._shared.get(name)
        if targets is None:
            targets = cls._shared[name] = cls(*name)
        return targets

    def of_all(self, keys: Sequence[str | int | bytes]) -> list[int]:  # hot
        """The subtasks of keys, in their order."""
        found: list[Any] = list(map(self.get, keys))
        if None not in found:
            return found
        new = list({key: None for key, target in zip(keys, found, strict=True) if target is None})
        if len(self) + len(new) > self.LIMIT:
            self.clear()
            new = list(dict.fromkeys(keys))
        for key, group in zip(new, groups_of(new, self._max_parallelism), strict=True):
            self[key] = subtask_of(group, self._max_parallelism, self._parallelism)
        return list(map(self.__getitem__, keys))
