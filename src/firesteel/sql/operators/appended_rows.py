"""Rows by key that are only ever added: what a join keeps of an input without retractions.

They are columns in memory (``keyed_log``), and pieces of columns where they are stored (``packed_rows``):
what an epoch adds to a bucket of keys (``row_buckets``) is an entry of its own, so no stored row is read to
add one. Entries of a bucket that have become many are put together; that adds no row, so processes that
follow the state pass over it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from firesteel.common.columns import LateArrays
from firesteel.sql.operators import row_buckets
from firesteel.sql.operators.keyed_log import KeyedLog
from firesteel.sql.operators.packed_rows import PackedRows, unpacked_values
from firesteel.sql.operators.row_buckets import EntryTails, bucket_start, width_start
from firesteel.sql.types import RowType
from firesteel.state.catalog import CatalogEntry
from firesteel.state.column_keys import canonical_column_keys, hash_codes, identities, identity_of_canonical
from firesteel.state.columns import TOMBSTONE, CanonicalKey, Column
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, RowsOf, StoredRow

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = ["APPENDED", "AppendedRows", "appended_rows_state"]

T = TypeVar("T")
Array = np.ndarray[Any, Any]
#: Identities of keys, one for each row -> which rows are chosen.
Chosen: TypeAlias = Callable[[Sequence[Any]], Array]
#: An entry of an epoch holds so many rows at most. Its number: that of the epoch, then its own within that.
_ENTRY_ROWS: Final = 1024
_ENTRY_BITS: Final = 24
#: Rows are packed and unpacked in parts of so many bytes: Arrow's offsets have 31 bits.
_AT_ONCE_BYTES: Final = 256 << 20
#: Entries are put together up to so many bytes in an epoch, or so many times what it has added.
_JOINED_BYTES: Final = 1 << 20
_JOINED_RATIO: Final = 4
_AS: Final = ", in columns by "


class AppendedRows(Column):
    """
    :param keys: columns of the rows that are their key. :param nulls: whether one of them may be null.
    """

    kind = "table appended rows"

    def __init__(
        self, core: StateCore, uid: str, name: str, row: RowType, keys: Sequence[int], nulls: bool, shape: str
    ) -> None:
        super().__init__(core, uid, name)
        self._packed = PackedRows(row)
        by = " ".join(map(str, keys))
        self.type = json.dumps(["OTHER", f"{shape}{_AS}{by}: {self._packed.layout}"])
        self._row = row
        self._keys = keys
        self._nulls = nulls
        self._reset()

    def _reset(self) -> None:
        self._held = KeyedLog(self._row, self._keys, self._nulls)  # all rows of the keys that are in it
        self._new: list[range] = []  # rows of it that the epoch has added
        #: What the epoch has added to keys of which not all is held: nothing else of them is here.
        self._apart = KeyedLog(self._row, self._keys, self._nulls)
        self._encoded: list[tuple[bytes, bytes]] = []  # entries that nobody has asked for yet
        #: Of key groups; where not all is held, of those that were asked for.
        self._widths: dict[int, int] = {}
        self._tails = EntryTails()
        self._follows = False  # what is loaded is what other processes have changed since
        self._seen_entries = self._seen_rows = 0  # how many rows the entries have that were read or made

    # ---- the operator's side

    def look(self, names: Sequence[Any], codes: Array) -> tuple[Array, LateArrays]:
        """How many rows each of some keys has, and the columns of all of them, key after key.

        :param names: the identities of keys (``column_keys``). :param codes: their hash codes.
        """
        self._decode()
        if not self._core.complete:
            self._fetch(names, codes)
        counts, arrays = self._held.look(names)
        if not len(self._apart.log):
            return counts, arrays
        more, others = self._apart.look(names)
        of_keys = np.concatenate([np.repeat(np.arange(len(names)), n) for n in (counts, more)])
        order = pa.array(np.argsort(of_keys, kind="stable"))
        return counts + more, LateArrays(
            len(arrays), lambda i: pa.concat_arrays([arrays[i], others[i]]).take(order)
        )

    def add(self, names: Sequence[Any], lengths: Array, arrays: Sequence[pa.Array]) -> None:
        """Add rows, those of each of some keys together, as many as its length; the keys differ."""
        self._decode()
        if self._core.complete and not len(self._apart.log):
            self._append(names, lengths, arrays)
            return
        apart = self._apart.find(names) >= 0
        if not self._core.complete:
            apart |= self._held.find(names) < 0
        for append, chosen in ((self._apart.append, apart), (self._append, ~apart)):
            if chosen.any():
                at = pa.array(np.flatnonzero(np.repeat(chosen, lengths)))
                some = [names[i] for i in np.flatnonzero(chosen).tolist()]
                append(some, lengths[chosen], [array.take(at) for array in arrays])

    def _append(self, names: Sequence[Any], lengths: Array, arrays: Sequence[pa.Array]) -> None:
        first = len(self._held.log)
        self._held.append(names, lengths, arrays)
        if not self._core.limits.batch:
            self._new.append(range(first, len(self._held.log)))

    # ---- what is stored

    def _fetch(self, names: Sequence[Any], codes: Array) -> None:
        """Hold all that is committed of keys."""
        missing = np.flatnonzero(self._held.find(names) < 0)
        if not len(missing):
            return
        pieces: list[bytes] = []
        for start in self._buckets_of([names[i] for i in missing.tolist()], codes[missing]):
            for _, values in self._core.entries_of(start + self.id):
                pieces += values
            if self._core.complete:  # and so all is held
                return
        wanted = {names[i] for i in missing.tolist()}
        self._hold(pieces, lambda found: np.fromiter(map(wanted.__contains__, found), bool, len(found)))

    def _buckets_of(self, names: Sequence[Any], codes: Array) -> Iterator[bytes]:
        """How the names of entries begin that may have rows of keys; of a key in the order of its rows."""
        groups = self._core.group_keys.groups_of(codes, lambda at: [names[i] for i in at])
        hashes = row_buckets.hashes_of(codes)
        widest = {group: self._width_of(group) for group in np.unique(groups).tolist()}
        of_keys = np.array([widest[group] for group in groups.tolist()])
        for width in row_buckets.WIDTHS:
            there = of_keys >= width
            prefixes = row_buckets.prefixes_of(hashes[there], width)
            places = sorted(set(zip(groups[there].tolist(), prefixes.tolist(), strict=True)))
            for group, prefix in places:
                yield bucket_start(group, width, prefix)

    def _width_of(self, group: int) -> int:
        """The width of the buckets that new rows of a key group go to."""
        width = self._widths.get(group)
        if width is None:
            stored = None if self._core.complete else self._core.overlay.get(width_start(group) + self.id)
            width = self._widths[group] = 0 if stored is None else stored[0]
        return width

    def _hold(self, pieces: Sequence[bytes], chosen: Chosen | None = None) -> None:
        """Hold the rows in pieces; *chosen*: those whose keys it takes, None: all."""
        parts = []
        for some in _in_parts(pieces, len):
            arrays, count = self._packed.unpack(some)
            self._seen_entries += len(some)
            self._seen_rows += count
            if chosen is not None:
                is_chosen = chosen(identities([arrays[i] for i in self._keys], count))
                count = int(np.count_nonzero(is_chosen))
                if 0 < count < len(is_chosen):
                    at = pa.array(np.flatnonzero(is_chosen))
                    arrays = [array.take(at) for array in arrays]
            parts.append((arrays, count))
        for arrays, count in parts:  # not before: a key may have rows in several of them
            if count:
                self._held.add(arrays, count)

    def _decode(self) -> None:
        if not self._encoded:
            return
        self._encoded.sort()  # so the rows of a key come in their order
        encoded, self._encoded = [piece for _, piece in self._encoded], []
        self._hold(encoded, None if self._core.complete else self._are_held)

    def _are_held(self, names: Sequence[Any]) -> Array:
        return self._held.find(names) >= 0

    def _are_not_held(self, names: Sequence[Any]) -> Array:
        return self._held.find(names) < 0

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        is_older = self._follows and row_buckets.level_of(key) > 0  # it was put together of what is known
        if self._note(key, end, value) and not is_older:
            self._encoded.append((key, value))

    def _note(self, key: bytes, end: int, value: bytes) -> bool:
        """Know of an entry; whether it has rows."""
        if row_buckets.is_width(key):
            self._widths[int.from_bytes(key[:2], "big")] = value[0]
            return False
        start = end + len(self.id)
        if value == TOMBSTONE:  # its rows are in an entry that it has become a part of
            self._tails.remove(key[:start], key[start:])
            return False
        self._tails.add(key[:start], key[start:], len(value))
        return True

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        self._decode()
        self._tails = EntryTails()
        pieces = [value for key, end, value in sorted(entries) if self._note(key, end, value)]
        self._hold(pieces, self._are_not_held)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        self._follows = True
        parts = [part for rows in self._new for part in self._held.log.range(rows.start, rows.stop)]
        parts += self._apart.log.range(0, len(self._apart.log))
        self._new = []
        if not parts:
            return
        added = sum(map(_size_of, parts))
        stored = sum(ref.length for ref in self._core.overlay.line.live_runs)
        width = row_buckets.width_for((stored + added) / len(self._core.group_keys.key_groups))
        made: list[tuple[bytes, bytes, int]] = []
        number = self._core.sequence << _ENTRY_BITS
        for some in _in_parts(parts, _size_of):
            arrays = [pa.concat_arrays(columns) for columns in zip(*some, strict=True)]
            for start, piece in self._pieces(arrays, width, keys, values):
                name = number.to_bytes(8, "big") + b"\0"
                keys.append(start + name)
                values.append(piece)
                made.append((start, name, len(piece)))
                number += 1
        self._seen_entries += len(made)
        self._seen_rows += sum(len(part[0]) for part in parts)
        self._put_together(list(dict.fromkeys(start for start, _, _ in made)), added, keys, values)
        for start, name, size in made:
            self._tails.add(start, name, size)
        if len(self._apart.log):
            self._join_apart()

    def _pieces(
        self, arrays: list[pa.Array], width: int, keys: list[bytes], values: list[bytes]
    ) -> Iterator[tuple[bytes, bytes]]:
        """The rows of each bucket, and how the names of its entries begin.

        :param width: that the key groups should have. Those of which it was less get an entry that says so.
        """
        count = len(arrays[0])
        by = [arrays[i] for i in self._keys]
        codes = hash_codes(by, count)
        groups = self._core.group_keys.groups_of(
            codes, lambda at: identities([array.take(pa.array(at)) for array in by], len(at))
        )
        for group in np.unique(groups).tolist():
            if self._width_of(group) < width:
                self._widths[group] = width
                keys.append(width_start(group) + self.id)
                values.append(bytes((width,)))
        order, starts, buckets = row_buckets.placed(groups, row_buckets.hashes_of(codes), self._widths)
        at = pa.array(order)
        stops = [*starts[1:].tolist(), count]
        cuts = [
            [*range(start + _ENTRY_ROWS, stop, _ENTRY_ROWS), stop]
            for start, stop in zip(starts.tolist(), stops, strict=True)
        ]
        pieces = self._packed.pack([array.take(at) for array in arrays], count, list(chain(*cuts)))
        heads = (
            bucket_start(*bucket) + self.id for bucket, some in zip(buckets, cuts, strict=True) for _ in some
        )
        return zip(heads, pieces, strict=True)

    def _put_together(self, buckets: list[bytes], added: int, keys: list[bytes], values: list[bytes]) -> None:
        """Make entries that have become many in these buckets into few."""
        budget = max(_JOINED_BYTES, _JOINED_RATIO * added)
        first = self._core.sequence % len(buckets)  # so that all have their turn
        for start in buckets[first:] + buckets[:first]:
            if budget <= 0:
                break
            names = self._tails.due(start)
            if not names:
                continue
            pieces = [piece for name in names if (piece := self._core.overlay.get(start + name)) is not None]
            assert len(pieces) == len(names), "what is known of entries is what is committed"
            piece = self._packed.joined(pieces)
            budget -= len(piece)
            keys += [start + name for name in names]
            values += [TOMBSTONE] * len(names)
            keys.append(start + self._tails.join(start, names, len(piece)))
            values.append(piece)

    def _join_apart(self) -> None:
        """What is apart is committed: it is held where all before it is."""
        rows = np.arange(len(self._apart.log))
        if not self._core.complete:
            rows = rows[self._are_held(self._apart.names_of(rows))]
        if len(rows):
            self._held.add(self._apart.log.take(rows), len(rows))
        self._apart = KeyedLog(self._row, self._keys, self._nulls)

    def drop(self) -> None:
        self._reset()

    def drop_key(self, key: CanonicalKey) -> None:
        self._decode()
        self._held.forget(identity_of_canonical(key))

    def changed(self) -> int:
        rows = sum(map(len, self._new)) + len(self._apart.log)
        return min(rows, len(self._core.group_keys.key_groups) << max(self._widths.values(), default=0))

    def cached(self) -> int:
        rows = len(self._held.log) + len(self._apart.log)
        return -(-rows * self._seen_entries // max(1, self._seen_rows)) + len(self._encoded)

    def evict(self, share: float) -> None:
        self._decode()
        self._held.keep_newest(1 - share)

    def cached_keys(self) -> set[CanonicalKey]:
        self._decode()
        found: set[CanonicalKey] = set()
        for log in (self._held, self._apart):
            arrays, count = log.keys()
            found.update(canonical_column_keys(identities(arrays, count), hash_codes(arrays, count)))
        return found


def _size_of(columns: Sequence[pa.Array]) -> int:
    return sum(array.nbytes for array in columns)


def _in_parts(things: Sequence[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Some things at a time, of about ``_AT_ONCE_BYTES``."""
    some: list[T] = []
    size = 0
    for thing in things:
        more = size_of(thing)
        if some and size + more > _AT_ONCE_BYTES:
            yield some
            some, size = [], 0
        some.append(thing)
        size += more
    if some:
        yield some


def appended_rows_state(
    state: OperatorState, name: str, row: RowType, keys: Sequence[int], nulls: bool, shape: str
) -> AppendedRows:
    """The rows of an operator under a name; *shape* as in ``rows_state``."""
    return state.engine_state(
        name, APPENDED, lambda core, uid, name: AppendedRows(core, uid, name, row, keys, nulls, shape)
    )


def _rows_of(state: CatalogEntry) -> RowsOf:
    by, _, layout = json.loads(state.type)[1].rpartition(_AS)[2].partition(": ")
    return partial(_stored_rows, [int(at) for at in by.split()], layout)


def _stored_rows(by: Sequence[int], layout: str, entries: Iterable[Entry]) -> Iterator[StoredRow]:
    """A row for each key, with the list of its rows; those of a key group are in memory at a time."""
    for _, of_group in groupby(entries, key=lambda entry: entry[0][:2]):
        found: dict[str, tuple[Any, list[Any]]] = {}
        for name, piece in of_group:
            if row_buckets.is_width(name):
                continue
            for row in unpacked_values(layout, piece):
                key = tuple(row[at] for at in by)
                found.setdefault(repr(key), (key, []))[1].append(row)
        for key, rows in found.values():
            is_bare = len(key) == 1 and isinstance(key[0], int | str)
            yield StoredRow(key[0] if is_bare else key, None, None, rows)


def _count(value: bytes) -> int:
    return int(len(value) > 1)  # a width counts for nothing


APPENDED: Final = KINDS.register(StateKind(name=AppendedRows.kind, rows=_rows_of, count=_count))
