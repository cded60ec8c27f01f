"""What is stored about a state beside its content: whose it is, of which kind and type, and what became of
its type since.

The catalog lies in the operator group of a line, an entry for each state. When the type of a state changes,
its entry gets one more ``Step``; what is stored is converted as it is read (``_migration``). Each run says up
to which step its entries have come (``RunRef.versions``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from firesteel.common._type_text import shown_type
from firesteel.state.line import OPERATOR_GROUP

__all__ = ["CATALOG_PREFIX", "CatalogEntry", "Step", "merged", "of_entries", "settled"]

#: The beginning of the entries of the operator group that say which states there are.
CATALOG_PREFIX: Final = OPERATOR_GROUP.to_bytes(2, "big") + b"\0C"


class Step(msgspec.Struct, frozen=True, array_like=True):
    """How a state came to another type.

    :param type: the type that it had before (``common._type_text``).
    :param ttl: whether its entries began with the time of their last write before.
    :param function: the user's migration function (cloudpickle); empty: the two types say what to do.
    :param at_ms: processing time of the change: from then on what has no time of a write yet lives.
    """

    type: str
    ttl: bool
    function: bytes
    at_ms: int


class CatalogEntry(msgspec.Struct, frozen=True, array_like=True):
    """What is stored about a state.

    :param type: its declared type, as text (``common._type_text``); of a list or a map state the LIST or MAP;
        "" where it was not recorded: by the first format, or because the state belongs to the runtime.
    :param key: the type of its keys, in the same way; "" for what belongs to no key.
    :param window: what the windows are that state and timers of a window operator belong to.
    """

    uid: str
    name: str
    kind: str
    ttl: bool
    type: str = ""
    key: str = ""
    window: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def described(self) -> str:
        """Kind and type, as reports show them."""
        type_ = f" of {shown_type(self.type)}" if self.type else ""
        ttl = ", with a time to live" if self.ttl else ""
        return f"{self.kind} state {self.name}{type_}{ttl}"


def of_entries(entries: Mapping[bytes, bytes]) -> dict[bytes, CatalogEntry]:
    """The catalog among the entries of an operator group, by column id."""
    return {
        key[len(CATALOG_PREFIX) :]: decode(value)
        for key, value in entries.items()
        if key.startswith(CATALOG_PREFIX)
    }


def decode(value: bytes) -> CatalogEntry:
    return msgspec.msgpack.decode(value, type=CatalogEntry)


def encode(entry: CatalogEntry) -> bytes:
    return msgspec.msgpack.encode(entry)


def merged(catalogs: Iterable[Mapping[bytes, CatalogEntry]]) -> dict[bytes, CatalogEntry]:
    """The catalog of several subtasks as one: where one of them has come further than others, or knows more,
    its entry counts. That holds for what others have stored too: their runs say how far they are."""
    result: dict[bytes, CatalogEntry] = {}
    for found in catalogs:
        for column, entry in found.items():
            known = result.get(column)
            if known is None or _knowledge(entry) > _knowledge(known):
                result[column] = entry
    return result


def _knowledge(entry: CatalogEntry) -> tuple[int, int]:
    return len(entry.steps), bool(entry.type) + bool(entry.key) + bool(entry.window)


def settled(entry: CatalogEntry) -> CatalogEntry:
    """The entry where all that is stored has the newest type."""
    return msgspec.structs.replace(entry, steps=())
