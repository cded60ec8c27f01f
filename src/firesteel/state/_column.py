"""What the kinds of keyed state have in common: one column of the state table of a subtask.

The key of an entry is ``group (2) | length | typed key | column id (6) | rest``: all state of a key lies
together. A length of 0 marks what lies beside the keys: timers and, in the operator group, operator state.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from firesteel.common.errors import StateError
from firesteel.state._key_codec import decode_int, encode_key, length_prefix
from firesteel.state.catalog import CatalogEntry
from firesteel.state.key_groups import groups_of
from firesteel.state.keys import group_of_canonical
from firesteel.state.line import OPERATOR_GROUP

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state._merge import Slice
    from firesteel.state._ttl import Ttl

COLUMN_ID_BYTES: Final = 6
_OF_OPERATORS: Final = OPERATOR_GROUP.to_bytes(2, "big")
#: The beginning of every entry of operator state: group, 0 (beside the keys), "S" (state).
OPERATOR_PREFIX: Final = _OF_OPERATORS + b"\0S"

CanonicalKey = str | int | bytes


def column_id(uid: str, name: str) -> bytes:
    """The short name of a state in entries, made of operator uid and state name alone (Flink finds state by
    these two)."""
    text = f"{uid}\0{name}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=COLUMN_ID_BYTES).digest()


class GroupKeys(dict[CanonicalKey, bytes]):
    """Canonical key -> the beginning of its entries' keys, made at the first use of a key."""

    __slots__ = ("_key_groups", "_max_parallelism", "_starts")

    def __init__(self, max_parallelism: int, key_groups: range) -> None:
        self._starts = _Starts()
        self._max_parallelism = max_parallelism
        self._key_groups = key_groups

    @property
    def key_groups(self) -> range:
        """The key groups of the subtask."""
        return self._key_groups

    def learn(self, keys: Sequence[CanonicalKey], codes: Any) -> None:
        """Know keys of columns, of which *codes* are the hash codes (``column_keys``): all at once."""
        from firesteel.state.hash_codes import groups_of_codes  # with it comes NumPy

        groups = groups_of_codes(codes, self._max_parallelism).tolist()
        own, starts = self._key_groups, self._starts
        for key, group in zip(keys, groups, strict=True):
            if key not in self and group in own:
                data = typed_bytes(key)
                self[key] = starts[group, len(data)] + data

    def heads(self, keys: Sequence[CanonicalKey], codes: Any) -> list[bytes]:
        """The beginning of the entries' keys of each of some keys of columns. They are not kept: for keys
        that are written once, or not soon again."""
        from firesteel.state.hash_codes import bytes_of_ints, entry_starts, groups_of_codes

        groups = groups_of_codes(codes, self._max_parallelism)
        self._require_own(keys, groups.tolist())
        ints: Any = keys
        data = bytes_of_ints(ints) if set(map(type, keys)) == {int} else None
        if data is None:
            data = [key if type(key) is bytes else typed_bytes(key) for key in keys]
        return [start + key for start, key in zip(entry_starts(groups, data), data, strict=True)]

    def groups_of(self, codes: Any, keys_at: Callable[[list[int]], Sequence[object]]) -> Any:
        """The key groups of keys of columns, of which *codes* are the hash codes, as an array.

        :param keys_at: gives keys of these columns by where they are, as people know them: for an error.
        :raises StateError: a key is in no key group of this subtask.
        """
        from firesteel.state.hash_codes import groups_of_codes

        groups = groups_of_codes(codes, self._max_parallelism)
        own = self._key_groups
        strange = (groups < own.start) | (groups >= own.stop)
        if strange.any():
            self._require_own(keys_at([int(strange.argmax())]), groups[strange][:1].tolist())
        return groups

    def meet(self, keys: Collection[CanonicalKey]) -> None:  # hot
        """Know keys, all of those that are new at once: for who is going to ask for each of them."""
        new = [key for key in keys if key not in self]
        if not new:
            return
        groups = groups_of(new, self._max_parallelism)
        self._require_own(new, groups)
        starts = self._starts
        for key, group, data in zip(new, groups, map(typed_bytes, new), strict=True):
            self[key] = starts[group, len(data)] + data

    def __missing__(self, key: CanonicalKey) -> bytes:
        group = group_of_canonical(key, self._max_parallelism)
        self._require_own((key,), (group,))
        data = typed_bytes(key)
        value = self[key] = self._starts[group, len(data)] + data
        return value

    def _require_own(self, keys: Sequence[object], groups: Sequence[int]) -> None:
        own = self._key_groups
        if all(group in own for group in set(groups)):
            return
        key, group = next(pair for pair in zip(keys, groups, strict=True) if pair[1] not in own)
        raise StateError(
            f"Key {key!r:.200} belongs to key group {group}, which is not one of this subtask.",
            detail=f"it owns the key groups {own.start} to {own.stop - 1}",
            hint="a key selector must give the same key whenever it is called for the same record",
        )


class _Starts(dict[tuple[int, int], bytes]):
    """Key group and length of a typed key -> what stands before it."""

    def __missing__(self, place: tuple[int, int]) -> bytes:
        group, length = place
        value = self[place] = group.to_bytes(2, "big") + length_prefix(length)
        return value


def key_end(key: bytes) -> int:
    """Where the typed key of an entry ends."""
    length = key[2]
    return 3 + length if length != 0xFF else 7 + int.from_bytes(key[3:7], "big")


def key_data(key: bytes, end: int) -> bytes:
    return key[3:end] if key[2] != 0xFF else key[7:end]


def column_of(key: bytes) -> bytes:
    """The column id in the key of an entry."""
    start = _column_start(key)
    return key[start : start + COLUMN_ID_BYTES]


def with_column(key: bytes, column: bytes) -> bytes:
    """The key of the same entry of another state."""
    start = _column_start(key)
    return key[:start] + column + key[start + COLUMN_ID_BYTES :]


def _column_start(key: bytes) -> int:
    if key[2]:
        return key_end(key)
    return 4 if key.startswith(_OF_OPERATORS) else 3  # in the operator group a letter says what it is


def canonical_of(data: bytes) -> CanonicalKey:  # hot
    """The canonical key for typed bytes."""
    tag = data[0]
    if tag == 0x73:
        return data[1:].decode("utf-8", "surrogatepass")
    if tag == 0x69:
        return decode_int(data[1:])
    return data


def typed_bytes(key: CanonicalKey) -> bytes:
    """The typed bytes for a canonical key."""
    if type(key) is str:
        return b"s" + key.encode("utf-8", "surrogatepass")
    return key if type(key) is bytes else encode_key(key)


def in_order(keys: Iterable[CanonicalKey]) -> list[CanonicalKey]:
    """In the order of their typed bytes, which depends on the keys alone, not on their history. For text
    and for numbers it is the natural order."""
    found = list(keys)
    if len({type(key) for key in found}) > 1:
        found.sort(key=typed_bytes)
    else:
        found.sort()
    return found


class KeyScope(NamedTuple):
    """What the keyed state of an operator is kept by.

    :param key: declared type of the keys, as text; "": not known.
    :param window: what its windows are, where state and timers belong to windows too.
    """

    key: str = ""
    window: str = ""


class Column(ABC):
    """One state of one operator: its cache, its changes and how its entries are read and written."""

    #: Name of the kind of state, as the catalog of a subtask keeps it.
    kind: str

    def __init__(self, core: StateCore, uid: str, name: str, ttl: Ttl | None = None) -> None:
        self._core = core
        self.uid = uid
        self.name = name
        self.ttl = ttl
        self.id = column_id(uid, name)
        self.type = ""  # as the program declares it (``common._type_text``)
        self.scope = KeyScope()
        #: The user's functions, by the type that they migrate from.
        self.migrations: Mapping[str, Callable[[Any], Any]] = {}

    @property
    def declared(self) -> CatalogEntry:
        """What is to be stored about it beside its content."""
        scope = self.scope
        return CatalogEntry(
            self.uid, self.name, self.kind, self.ttl is not None, self.type, scope.key, scope.window
        )

    def has_content(self) -> bool:
        """Whether the current key has this state; False for what functions do not ask for."""
        return False

    @abstractmethod
    def load(self, key: bytes, end: int, value: bytes) -> None:
        """Take an entry of a committed run into the cache; ``end``: where its typed key ends."""

    @abstractmethod
    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        """Take all committed entries of this state; what the cache knows already is newer. From here on the
        cache is complete."""

    @abstractmethod
    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        """Append the entries that changed in this epoch, and regard them as written."""

    def late(self) -> Iterator[Slice] | None:
        """Regard what has changed in this epoch as written, and return its entries, some at a time, which are
        made as they are asked for, in any thread; None: it is for ``collect``."""
        return None

    def clean(self, changed: int) -> None:
        """Forget some of what is gone by its time to live; the epoch has changed ``changed`` entries. All
        changes are collected."""

    @abstractmethod
    def drop(self) -> None:
        """Forget the cache and the changes."""

    @abstractmethod
    def drop_key(self, key: CanonicalKey) -> None:
        """Forget all about a key, without a trace in the changes."""

    @abstractmethod
    def changed(self) -> int:
        """About how many entries have changed in this epoch."""

    @abstractmethod
    def cached(self) -> int:
        """About how many entries the cache holds."""

    @abstractmethod
    def evict(self, share: float) -> None:
        """Forget about this share of the cache; nothing of it is changed."""

    @abstractmethod
    def cached_keys(self) -> set[CanonicalKey]:
        """The keys that have this state, as far as the cache knows."""


def check_kind(column: Column, kind: str, ttl: bool, uid: str) -> None:
    if column.kind != kind:
        raise StateError(
            f"State {column.name!r} is a {column.kind} state, it cannot be used as a {kind} state.",
            hint="give each state of an operator a name of its own",
            uid=uid,
        )
    if (column.ttl is not None) != ttl:
        raise differs(column.name, "two settings", "with a time to live", "without", uid)


def differs(name: str, what: str, one: str, other: str, uid: str) -> StateError:
    return StateError(
        f"State {name!r} is asked for twice with {what}: {one} and {other}.",
        hint="give each state of an operator a name of its own, and pass the same descriptor for it",
        uid=uid,
    )


def type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
