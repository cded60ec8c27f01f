"""Rows by key that are only ever added: what a join keeps of an input without retractions.

They are columns in memory, in the order in which they came, and an index says where those of a key are. What
an epoch adds to a key is an entry of its own, so no stored row is read to add one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.hash_index import RunIndex, expanded, mixed
from firesteel.sql.operators.packed_rows import PackedRows, unpacked_values
from firesteel.sql.operators.row_log import RowLog
from firesteel.sql.types import RowType
from firesteel.state.catalog import CatalogEntry
from firesteel.state.column_keys import (
    canonical_column_keys,
    entry_keys,
    group_rows,
    hash_codes,
    identities,
    identity_of_canonical,
    is_integer_like,
)
from firesteel.state.columns import TOMBSTONE, CanonicalKey, Column, canonical_of, key_data
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, RowsOf, rows_by_key

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = ["APPENDED", "AppendedRows", "KeyedLog", "appended_rows_state"]

Array = np.ndarray[Any, Any]
#: An entry holds so many rows at most. Its name: the number of the epoch, then its number within that.
_ENTRY_ROWS: Final = 1024
_ENTRY_BITS: Final = 24
_AS: Final = ", as "


class KeyedLog:
    """Rows, and where those of a key are.

    :param keys: columns of the rows that are their key.
    :param nulls: whether a column of a key may be null.
    """

    def __init__(self, row: RowType, keys: Sequence[int], nulls: bool) -> None:
        self._types = [arrow_type(kind) for kind in row.types]
        self._keys = keys
        #: No two keys have one hash.
        self._is_exact = len(keys) == 1 and is_integer_like(self._types[keys[0]]) and not nulls
        self._clear()

    def _clear(self) -> None:
        self.log = RowLog(self._types)
        self.index = RunIndex()
        self._forgotten = 0  # rows that are no key's any more

    def key_arrays(self, rows: Array) -> list[pa.Array]:
        """The columns of the keys of rows."""
        return self.log.take(rows, self._keys)

    def names_of(self, rows: Array) -> list[Any]:
        """The identities of the keys of rows."""
        return identities(self.key_arrays(rows), len(rows))

    def find(self, names: Sequence[Any]) -> Array:
        """The newest run of each of some keys, or ``NOTHING``."""
        return self._find(names, apart=False)[1]

    def _find(self, names: Sequence[Any], apart: bool) -> tuple[Array, Array]:
        """The hash under which each key is, or would be, and its newest run.

        :param apart: keys that are new have different hashes, too.
        """
        hashes = self._hashes(names)
        runs = self.index.find(hashes)
        while not self._is_exact and len(taken := self._taken(names, hashes, runs, apart)):
            hashes[taken] = mixed(hashes[taken])
            runs[taken] = self.index.find(hashes[taken])
        return hashes, runs

    def _hashes(self, names: Sequence[Any]) -> Array:
        numbers = names if self._is_exact else list(map(hash, names))
        return mixed(np.array(numbers, np.int64))

    def _taken(self, names: Sequence[Any], hashes: Array, runs: Array, apart: bool) -> Array:
        """Which keys have the hash of another one."""
        there = np.flatnonzero(runs >= 0)
        found = self.names_of(self.index.starts[runs[there]])
        wanted = [names[i] for i in there.tolist()]
        taken = np.zeros(len(names), bool)
        if found != wanted:
            taken[there] = [a != b for a, b in zip(found, wanted, strict=True)]
        if apart:
            new = np.flatnonzero(runs < 0)
            firsts = np.unique(hashes[new], return_index=True)[1]
            taken[np.delete(new, firsts)] = True
        return np.flatnonzero(taken)

    def append(self, names: Sequence[Any], lengths: Array, arrays: Sequence[pa.Array]) -> None:
        """Add rows, those of each of some keys together; the keys differ."""
        hashes, _ = self._find(names, apart=True)
        first = self.log.append(arrays, int(lengths.sum()))
        self.index.append(hashes, first + np.cumsum(lengths) - lengths, lengths)

    def add(self, arrays: Sequence[pa.Array], count: int) -> None:
        """Add rows whose keys are not together."""
        of_keys = group_rows([arrays[i] for i in self._keys], count)
        order, starts = of_keys.order()
        at = pa.array(order)
        sorted_rows = [array.take(at) for array in arrays]
        firsts = pa.array(starts)
        names = identities([sorted_rows[i].take(firsts) for i in self._keys], of_keys.count)
        self.append(names, np.diff(starts, append=count), sorted_rows)

    def look(self, names: Sequence[Any]) -> tuple[Array, list[pa.Array]]:
        """How many rows each of some keys has, and the columns of all of them, key after key."""
        counts, rows = self.index.rows_of(self.find(names))
        return counts, self.log.take(rows)

    def forget(self, name: Any) -> None:
        """Know nothing of a key any more."""
        runs = self.find([name])
        if runs[0] >= 0:
            self._forgotten += self.index.empty(int(runs[0]))
        if 2 * self._forgotten > len(self.log):
            self._keep(self.index.newest())

    def keep_newest(self, share: float) -> None:
        """Keep about this share of the keys, those that something was added to last."""
        newest = np.sort(self.index.newest())
        self._keep(newest[len(newest) - int(len(newest) * share) :])

    def _keep(self, chains: Array) -> None:
        rows = np.sort(self.index.rows_of(chains)[1])
        arrays = self.log.take(rows)
        self._clear()
        if len(rows):
            self.add(arrays, len(rows))


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
        self.type = json.dumps(["OTHER", f"{shape}{_AS}{self._packed.layout}"])
        self._row = row
        self._keys = keys
        self._nulls = nulls
        self._reset()

    def _reset(self) -> None:
        self._held = KeyedLog(self._row, self._keys, self._nulls)  # all rows of the keys that are in it
        self._new: list[range] = []  # runs of it that the epoch has added
        #: What the epoch has added to keys of which not all is held: nothing else of them is here.
        self._apart = KeyedLog(self._row, self._keys, self._nulls)
        self._encoded: list[tuple[CanonicalKey, bytes]] = []  # what nobody has asked for yet

    # ---- the operator's side

    def look(self, names: Sequence[Any], codes: Array) -> tuple[Array, list[pa.Array]]:
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
        pairs = zip(arrays, others, strict=True)
        return counts + more, [pa.concat_arrays(both).take(order) for both in pairs]

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
        first = len(self._held.index)
        self._held.append(names, lengths, arrays)
        self._new.append(range(first, len(self._held.index)))

    def _fetch(self, names: Sequence[Any], codes: Array) -> None:
        """Hold all that is committed of keys."""
        missing = np.flatnonzero(self._held.find(names) < 0)
        keys = canonical_column_keys([names[i] for i in missing.tolist()], codes[missing])
        bodies: list[bytes] = []
        for key in keys:
            bodies += self._core.fetch_all(key, self.id).values()
            if self._core.complete:  # and so all is held
                return
        self._hold(bodies)

    def _hold(self, bodies: Sequence[bytes]) -> None:
        if bodies:
            self._held.add(*self._packed.unpack(bodies))

    def _decode(self) -> None:
        if not self._encoded:
            return
        encoded, self._encoded = self._encoded, []
        if not self._core.complete:
            known = self._held.find([identity_of_canonical(key) for key, _ in encoded]) >= 0
            encoded = [pair for pair, is_known in zip(encoded, known.tolist(), strict=True) if is_known]
        self._hold([body for _, body in encoded])

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        assert value != TOMBSTONE, "rows that are only added are never deleted"
        self._encoded.append((canonical_of(key_data(key, end)), value))

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        self._decode()
        names = [identity_of_canonical(canonical_of(key_data(key, end))) for key, end, _ in entries]
        new = self._held.find(names) < 0 if names else np.zeros(0, bool)
        self._hold([entries[i][2] for i in np.flatnonzero(new).tolist()])

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        if self._new:
            self._collect(
                self._held, np.concatenate([np.arange(r.start, r.stop) for r in self._new]), keys, values
            )
            self._new = []
        if len(self._apart.log):
            self._collect(self._apart, np.arange(len(self._apart.index)), keys, values)
            self._join_apart()

    def _collect(self, log: KeyedLog, runs: Array, keys: list[bytes], values: list[bytes]) -> None:
        index = log.index
        order = runs[np.argsort(index.hashes[runs], kind="stable")]
        hashes = index.hashes[order]
        rows = expanded(index.starts[order], index.lengths[order])
        ends = np.cumsum(index.lengths[order])
        last = np.append(hashes[1:] != hashes[:-1], True)
        stops = ends[last]
        heads = self._entry_keys(log, rows[np.concatenate([[0], stops[:-1]])])
        data, ends_of_rows = self._packed.pack(log.log.take(rows), len(rows))
        number = self._core.sequence << _ENTRY_BITS
        start = begin = 0
        for head, stop in zip(heads, stops.tolist(), strict=True):
            for i, at in enumerate(range(start, stop, _ENTRY_ROWS)):
                end = int(ends_of_rows[min(at + _ENTRY_ROWS, stop) - 1])
                keys.append(head + (number + i).to_bytes(8, "big"))
                values.append(data[begin:end])
                begin = end
            start = stop

    def _entry_keys(self, log: KeyedLog, rows: Array) -> list[bytes]:
        """How the keys of entries of the keys of rows begin."""
        arrays = log.key_arrays(rows)
        names, codes = identities(arrays, len(rows)), hash_codes(arrays, len(rows))
        return entry_keys(self._core.group_keys, self.id, names, codes)

    def _join_apart(self) -> None:
        """What is apart is committed: it is held where all before it is."""
        rows = np.arange(len(self._apart.log))
        if not self._core.complete:
            rows = rows[self._held.find(self._apart.names_of(rows)) >= 0]
        if len(rows):
            self._held.add(self._apart.log.take(rows), len(rows))
        self._apart = KeyedLog(self._row, self._keys, self._nulls)

    def drop(self) -> None:
        self._reset()

    def drop_key(self, key: CanonicalKey) -> None:
        self._decode()
        self._held.forget(identity_of_canonical(key))

    def changed(self) -> int:
        return sum(map(len, self._new)) + len(self._apart.index)

    def cached(self) -> int:
        return len(self._held.index) + len(self._apart.index) + len(self._encoded)

    def evict(self, share: float) -> None:
        self._decode()
        self._held.keep_newest(1 - share)

    def cached_keys(self) -> set[CanonicalKey]:
        self._decode()
        found: set[CanonicalKey] = set()
        for log in (self._held, self._apart):
            newest = log.index.newest()
            rows = log.index.starts[newest[log.index.lengths[newest] > 0]]
            arrays, count = log.key_arrays(rows), len(rows)
            found.update(canonical_column_keys(identities(arrays, count), hash_codes(arrays, count)))
        return found


def appended_rows_state(
    state: OperatorState, name: str, row: RowType, keys: Sequence[int], nulls: bool, shape: str
) -> AppendedRows:
    """The rows of an operator under a name; *shape* as in ``rows_state``."""
    return state.engine_state(
        name, APPENDED, lambda core, uid, name: AppendedRows(core, uid, name, row, keys, nulls, shape)
    )


def _rows_by_key(state: CatalogEntry) -> RowsOf:
    layout = json.loads(state.type)[1].rpartition(_AS)[2]

    def rows(parts: list[Entry]) -> list[list[Any]]:
        return [row for _, body in parts for row in unpacked_values(layout, body)]

    return rows_by_key(rows)(state)


APPENDED: Final = KINDS.register(StateKind(name=AppendedRows.kind, rows=_rows_by_key))
