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
    kind = type(keys[0]) if len(keys) >= _TOGETHER else bytes
    if kind is not bytes and all(type(key) is kind for key in keys):
        from firesteel.state import hash_codes  # with it comes NumPy, which is long in coming

        codes = hash_codes.of_texts(keys) if kind is str else hash_codes.of_integers(keys)
        if codes is not None:
            groups: list[int] = hash_codes.groups_of_codes(codes, max_parallelism).tolist()
            return groups
    return [group_of_canonical(key, max_parallelism) for key in keys]


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
