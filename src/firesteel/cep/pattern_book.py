"""The patterns that a running job looks for, as its broadcast state has them.

For each id the versions that count: at most one that begins matches, the *current* one, and those before it
whose partial matches go on. Every subtask gets the same records in the same order, so all have the same book.
A version has a number of its own, under which its partial matches are kept: what a removed one left behind
never belongs to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.pattern_json import PatternRecord, record_text
from firesteel.common.typeinfo import Types
from firesteel.program.state.descriptors import MapStateDescriptor
from firesteel.program.state.kinds import BroadcastState

__all__ = ["PATTERNS", "PatternBook", "Version"]

#: id -> its versions, the oldest first, as JSON; under NEXT the number of the next version.
PATTERNS: Final = MapStateDescriptor("patterns", Types.STRING(), Types.STRING())
NEXT: Final = ""


class Version(msgspec.Struct, frozen=True):
    """
    :ivar record: the record that brought it, as JSON.
    :ivar begins: whether matches begin; else those that have begun go on.
    """

    number: int
    version: int
    record: str
    begins: bool = True


_decode: Final = msgspec.json.Decoder(list[Version]).decode


class PatternBook:
    def __init__(self, state: BroadcastState[str, str]) -> None:
        self._state = state

    def versions(self) -> Iterator[tuple[str, Version]]:
        """All versions that count, each with the id of its pattern, in the order in which they came."""
        found = [(id, v) for id, text in self._state.items() if id != NEXT for v in _decode(text)]
        return iter(sorted(found, key=lambda each: each[1].number))

    def content(self) -> dict[str, str]:
        """What the state has, to be compared."""
        return dict(self._state.items())

    def apply(self, record: PatternRecord, check: Callable[[str, Version], None]) -> None:
        """Do what a record says.

        :param check: is called with a new version; what it raises leaves the book as it is.
        :raises MalformedPatternError: the record does not fit what is there.
        """
        stored = self._state.get(record.id)
        held = [] if stored is None else _decode(stored)
        kept = [msgspec.structs.replace(v, begins=False) for v in held] if record.earlier == "go_on" else []
        if record.remove:
            if not held:
                raise MalformedPatternError(f"There is no pattern {record.id!r} to remove.")
        else:
            current = next((v for v in held if v.begins), None)
            text = record_text(record)
            if current is not None and current.record == text:
                return  # the record has come once more
            _require_newer(record, current)
            number = int(self._state.get(NEXT) or 0)
            assert record.version is not None
            version = Version(number, record.version, text)
            check(record.id, version)
            self._state.put(NEXT, str(number + 1))
            kept.append(version)
        if kept:
            self._state.put(record.id, msgspec.json.encode(kept).decode())
        else:
            self._state.remove(record.id)


def _require_newer(record: PatternRecord, current: Version | None) -> None:
    assert record.version is not None
    if current is not None and record.version <= current.version:
        raise MalformedPatternError(
            f"Version {record.version} of the pattern {record.id!r} is not newer than the one in force.",
            detail=f"version {current.version} is in force"
            + (", with another content" if record.version == current.version else ""),
            hint="give the pattern a higher version",
        )
