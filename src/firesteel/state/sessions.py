"""State of session windows: for each key its open sessions, with one value each.

All sessions of a key are one entry of the key: ``(start, end, value, start, end, value, ...)``, in the order
in which they last grew, followed by the numbers of those that have fired, if any. These must be stored: after
a restore the watermark starts over, and a session that has fired fires again only with a new element.

Each key with sessions has a deadline: an instant no later than the first moment at which one of its sessions
needs attention. It is moved only when it is reached, so a session that grows costs nothing there. Deadlines
are always in memory, so a key without one has no sessions and is never looked up. A session that begins and
ends within one epoch leaves no trace in any file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from firesteel.state._column import CanonicalKey, Column, canonical_of, key_data
from firesteel.state._value_codec import (
    PLAIN,
    TOMBSTONE,
    decode_value,
    encode_value,
    is_atom,
    pack,
    unpack,
)
from firesteel.state.catalog import CatalogEntry
from firesteel.state.deadlines import Deadlines
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, RowsOf, StoredRow, key_of_entry

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["SESSIONS", "Session", "SessionColumn", "copied"]

_FIELDS: Final = 3
_growth: Final = count()
_START: Final = attrgetter("start")
_GROWN: Final = attrgetter("grown")


class Session:
    """``[start, end)`` in epoch milliseconds; ``value`` is the object that the function gave, None: none.
    ``grown`` rises with each session of the process that begins or grows: the order in which they did."""

    __slots__ = ("end", "fired", "grown", "start", "value")

    def __init__(self, start: int, end: int, value: Any = None, fired: bool = False) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.fired = fired  # with all of its elements
        self.grown = next(_growth)

    def grow(self) -> None:
        """The session is the last of its key that has grown."""
        self.grown = next(_growth)


class SessionColumn(Column):
    """All sessions of one operator, those of a key in the order of their start. The operator works on
    ``open`` and ``changed_keys`` directly: it may change the sessions of a key that is in ``open``, and then
    adds the key to ``changed_keys``."""

    kind = "sessions"

    def __init__(self, core: StateCore, uid: str, name: str, deadlines: Deadlines) -> None:
        super().__init__(core, uid, name)
        self._deadlines = deadlines
        self.open: dict[CanonicalKey, list[Session]] = {}
        self.changed_keys: set[CanonicalKey] = set()
        self._packed: dict[CanonicalKey, bytes] = {}  # what is stored of keys that nobody has used yet
        self._stored: set[CanonicalKey] = set()  # keys that the committed state has, as far as is known

    # ---- the operator's side

    def of(self, key: CanonicalKey) -> list[Session]:
        """The sessions of a key; an empty list, which nobody knows, when it has none."""
        found = self.open.get(key)
        if found is None:
            found = self._read(key) if key in self._deadlines.due else []
        return found

    def put(self, key: CanonicalKey, sessions: list[Session], due_ms: int) -> None:
        """``sessions`` are what a key has from now on, to be looked after at ``due_ms`` or before; only a
        key whose deadline was taken may have none."""
        self.changed_keys.add(key)
        if sessions:
            self.open[key] = sessions
            self._deadlines.bring_forward(key, due_ms)
        else:
            self.open.pop(key, None)

    def take_due(self, until_ms: int) -> dict[CanonicalKey, list[Session]]:
        """The keys to look after, with their sessions; each must be ``put`` again."""
        opened = self.open
        return {key: opened.get(key) or self._read(key) for key in self._deadlines.take(until_ms)}

    def _read(self, key: CanonicalKey) -> list[Session]:
        """The sessions of a key that has some, which are not open here yet."""
        packed = self._packed.pop(key, None)
        if packed is None:
            packed = self._core.fetch(key, self.id)
            assert packed is not None, "a key has a deadline as long as it has sessions"
            self._packed.pop(key, None)  # the cache may have been completed meanwhile
            self._stored.add(key)
        sessions = self.open[key] = _unpacked(packed)
        return sessions

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        current = canonical_of(key_data(key, end))
        known = self.open.pop(current, None) is not None or self._packed.pop(current, None) is not None
        if value == TOMBSTONE:
            self._stored.discard(current)
        elif known or self._core.complete:
            self._packed[current] = value
            self._stored.add(current)

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        for key, end, value in entries:
            current = canonical_of(key_data(key, end))
            if current not in self.open and current not in self.changed_keys:
                self._packed[current] = value
                self._stored.add(current)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        self._core.group_keys.meet(self.changed_keys)
        for key in self.changed_keys:
            sessions = self.open.get(key)
            if sessions is not None:
                self._stored.add(key)
                values.append(_packing(sessions))
            elif key in self._stored:
                self._stored.remove(key)
                values.append(TOMBSTONE)
            else:
                continue
            keys.append(self._core.group_keys[key] + self.id)
        self.changed_keys.clear()

    def drop(self) -> None:
        self.open.clear()
        self._packed.clear()
        self._stored.clear()
        self.changed_keys.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        self.open.pop(key, None)
        self._packed.pop(key, None)
        self._stored.discard(key)
        self.changed_keys.discard(key)

    def changed(self) -> int:
        return len(self.changed_keys)

    def cached(self) -> int:
        return len(self.open) + len(self._packed)

    def evict(self, share: float) -> None:
        going = list(islice(chain(self._packed, self.open), int(self.cached() * share) + 1))
        for key in going:
            self.drop_key(key)

    def cached_keys(self) -> set[CanonicalKey]:
        return {*self.open, *self._packed}


def copied(value: Any) -> Any:
    """A value that nobody else can change."""
    return value if value is None or is_atom(value) else decode_value(encode_value(value))


def _triples(fields: list[Any]) -> Iterator[tuple[int, int, Any]]:
    count = len(fields) // _FIELDS * _FIELDS
    return zip(*(fields[n:count:_FIELDS] for n in range(_FIELDS)), strict=True)


def _packing(sessions: list[Session]) -> bytes:
    """Plain values are written as they are, bytes stand for all others."""
    sessions = sorted(sessions, key=_GROWN)
    fields: list[Any] = []
    for s in sessions:
        value = s.value
        fields += (s.start, s.end, value if type(value) in PLAIN else encode_value(value))
    fired = [number for number, s in enumerate(sessions) if s.fired]
    if fired:
        fields.append(fired)
    try:
        return pack(fields)
    except (OverflowError, UnicodeEncodeError):  # a number or a text that msgpack does not know
        fields[2::_FIELDS] = [encode_value(s.value) for s in sessions]
        return pack(fields)


def _unpacked(data: bytes) -> list[Session]:
    fields = unpack(data)
    fired = frozenset(fields[-1] if len(fields) % _FIELDS else ())
    sessions = [
        Session(start, end, decode_value(value) if type(value) is bytes else value, number in fired)
        for number, (start, end, value) in enumerate(_triples(fields))
    ]
    sessions.sort(key=_START)
    return sessions


# ---- the kind


def _rows(state: CatalogEntry) -> RowsOf:
    return _session_rows


def _session_rows(entries: Iterable[Entry]) -> Iterator[StoredRow]:
    for name, stored in entries:
        key = key_of_entry(name)
        for start, end, held in _triples(unpack(stored)):
            yield StoredRow(key, (start, end), None, decode_value(held) if type(held) is bytes else held)


SESSIONS: Final = KINDS.register(
    StateKind(
        name=SessionColumn.kind,
        rows=_rows,
        count=lambda stored: len(unpack(stored)) // _FIELDS,
        time_windows=True,
    )
)
