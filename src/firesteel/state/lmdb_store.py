"""The local store of a subtask on one host: LMDB, open to every worker process of the host.

It stands in for the newest deltas of a line: it holds the changes of all epochs after its base, deletions
too, and lies over the older deltas and the segments. It is a cache. It may lag behind the line
and then catches up from the deltas; when it cannot - its manifest is not on the line, the host was rebooted,
it is damaged - it is left alone and a new directory is begun. Nothing is deleted in place: another process
may use it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

import lmdb
import msgspec

from firesteel.state._merge import Slice
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state.host_directory import hold, job_directory
from firesteel.state.line import DeltaRef, StateLine
from firesteel.state.runs import BLOCK_BYTES, BLOCK_ENTRIES
from firesteel.storage.private_files import make_directories

if TYPE_CHECKING:
    from firesteel.state._ttl import Expiry

__all__ = ["LocalStore", "LocalStoreKey"]

Slices = Callable[[DeltaRef], Iterator[Slice]]

FIRST_MAP_BYTES: Final = 16 << 20
#: The number of entries, counted from the newest delta back, that a new store starts with. A host that joins
#: late reads older and larger deltas in place instead of copying them first.
NEW_STORE_ENTRIES: Final = 20_000
#: How many entries of a store are checked for expiry with each entry of a delta that it takes in.
_LOOKS: Final = 5
_LEAST_LOOKS: Final = 1000
_META: Final = b"m"  # shorter than any key of an entry
_PREFIX_BYTES: Final = 495
_HASH_BYTES: Final = 16
LONGEST_KEY: Final = _PREFIX_BYTES + _HASH_BYTES - 1  # LMDB takes 511 bytes; a hashed key has exactly these

_environments: dict[str, Any] = {}  # LMDB must not be opened twice in a process


class LocalStoreKey(NamedTuple):
    local_dir: str
    job_id: str
    attempt: str
    vertex_id: str
    subtask: int

    @property
    def path(self) -> Path:
        return self.job / self.attempt / self.vertex_id / str(self.subtask)

    @property
    def job(self) -> Path:
        return job_directory(self.local_dir, self.job_id)


class _Meta(msgspec.Struct, frozen=True, array_like=True):
    """``base_id``: the manifest before the first epoch whose changes the store has."""

    boot_id: str
    manifest_id: str
    base_id: str
    complete: bool


class LocalStore:
    """One store directory, chosen or made when it is first needed."""

    def __init__(self, key: LocalStoreKey, boot_id: str | None = None) -> None:
        self._key = key
        self._root = key.path
        self._boot_id = boot_id or _boot_id()
        self._path: str | None = None
        self._txn: Any = None
        self._broken = False
        self._expiry: Expiry | None = None
        self._looked_at = b""  # up to here the store was looked through for what is gone
        self.complete = False
        self.base_id = ""

    def catch_up(self, line: StateLine, slices: Slices, expiry: Expiry | None = None) -> bool:
        """Bring the store to ``line`` and open it for reading; a piece of it is looked through for what is
        gone by its time to live. False: it cannot be used in this epoch."""
        self.rest()
        self._expiry = expiry
        if self._broken:
            return False
        if self._path is not None and not self._usable(self._path, line, slices):
            self._path = None
        try:
            if self._path is None:
                hold(self._key.job)
                self._path = self._find(line, slices) or self._make(line, slices)
            self._txn = _read(self._path)
        except (lmdb.Error, OSError, MemoryError):
            self._broken = True  # no room, for instance: the process goes on without a store
            return False
        return True

    def _usable(self, path: str, line: StateLine, slices: Slices) -> bool:
        try:
            return self._move(path, line, slices)
        except (lmdb.Error, OSError, MemoryError):
            return False  # damaged: left alone

    def _find(self, line: StateLine, slices: Slices) -> str | None:
        if not self._root.is_dir():
            return None
        for path in sorted(str(p) for p in self._root.iterdir()):
            if self._usable(path, line, slices):
                return path
        return None

    def _make(self, line: StateLine, slices: Slices) -> str:
        path = str(self._root / uuid4().hex)
        make_directories(path)
        start = line.newest(NEW_STORE_ENTRIES)
        base_id = line.deltas[start - 1].manifest_id if start else line.base_id
        complete = start == 0 and base_id == "" and not line.segments
        meta = _Meta(self._boot_id, base_id, base_id, complete)
        _write(path, lambda txn: txn.put(_META, msgspec.msgpack.encode(meta)))
        if not self._move(path, line, slices):
            raise lmdb.Error("a new store does not take its line")
        return path

    def _move(self, path: str, line: StateLine, slices: Slices) -> bool:
        """Apply what is missing, in one transaction. False when the store is not on the line."""
        if not os.path.exists(os.path.join(path, "data.mdb")):
            _environments.pop(path, None)
            return False
        meta = self._meta(path)
        if meta is None or line.position(meta.manifest_id) is None:
            return False
        self.complete = meta.complete
        self.base_id = meta.base_id
        if meta.manifest_id == line.manifest_id:
            return True
        return bool(_write(path, lambda txn: self._apply(txn, line, slices)))

    def _meta(self, path: str) -> _Meta | None:
        with _read(path) as txn:
            data = txn.get(_META)
        if data is None:
            return None
        try:
            meta = msgspec.msgpack.decode(data, type=_Meta)
        except msgspec.MsgspecError:
            return None
        return meta if meta.boot_id == self._boot_id else None

    def _apply(self, txn: Any, line: StateLine, slices: Slices) -> bool:
        data = txn.get(_META)  # again, now that no other process can write
        meta = msgspec.msgpack.decode(data, type=_Meta)
        position = line.position(meta.manifest_id)
        if position is None:
            return False
        entries = 0
        for delta in line.deltas[position:]:
            for keys, values in slices(delta):
                _put_all(txn, keys, values, meta.complete)
                entries += len(keys)
        if self._expiry:
            self._remove_gone(txn, self._expiry, max(_LEAST_LOOKS, _LOOKS * entries))
        txn.put(_META, msgspec.msgpack.encode(msgspec.structs.replace(meta, manifest_id=line.manifest_id)))
        return True

    def _remove_gone(self, txn: Any, expiry: Expiry, looks: int) -> None:
        """Look at the next entries. Older versions in the segments below are gone too: no tombstone."""
        with txn.cursor() as cursor:
            there = cursor.set_range(self._looked_at) if self._looked_at else cursor.first()
            for _ in range(looks):
                if not there:
                    break
                key, value = cursor.item()
                long = len(key) > LONGEST_KEY
                if len(key) > len(_META) and expiry.gone(*(_split_long(value) if long else (key, value))):
                    there = cursor.delete()  # moves on to the next
                else:
                    there = cursor.next()
            self._looked_at = cursor.key() if there else b""

    # ---- reads, after catch_up

    def get(self, key: bytes) -> bytes | None:  # hot
        """The value of ``key`` (``TOMBSTONE``: deleted), None when the store does not know it."""
        if len(key) <= LONGEST_KEY:
            value: bytes | None = self._txn.get(key)
            return value
        return _unpack_long(key, self._txn.get(_short(key)))

    def slices(self, start: bytes, stop: bytes | None) -> Iterator[Slice]:
        """Keys and values from ``start`` on and before ``stop``, deletions too, in order, some at a time."""
        keys: list[bytes] = []
        values: list[bytes] = []
        size = 0
        for key, value in self._entries(start, stop):
            keys.append(key)
            values.append(value)
            size += len(value)
            if len(keys) == BLOCK_ENTRIES or size >= BLOCK_BYTES:
                yield keys, values
                keys, values, size = [], [], 0
        if keys:
            yield keys, values

    def _entries(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if not cursor.set_range(start[:_PREFIX_BYTES]):
                return
            alike: list[tuple[bytes, bytes]] = []  # long keys: what is hashed of them is not in order
            for key, value in cursor:
                if alike and not key.startswith(alike[0][0][:_PREFIX_BYTES]):
                    yield from sorted(e for e in alike if start <= e[0] and (stop is None or e[0] < stop))
                    alike.clear()
                if stop is not None and key[:_PREFIX_BYTES] > stop:
                    return
                if len(key) < _PREFIX_BYTES:
                    if stop is None or key < stop:
                        yield key, value
                else:
                    alike.append(_split_long(value) if len(key) > LONGEST_KEY else (key, value))
            yield from sorted(e for e in alike if start <= e[0] and (stop is None or e[0] < stop))

    def rest(self) -> None:
        """Let go of the snapshot: while it is held LMDB cannot use freed pages again."""
        if self._txn is not None:
            self._txn.abort()
            self._txn = None

    def begin_anew(self, name: str) -> None:
        """What is in the store means something else now: use another one, named ``name`` ("": as before)."""
        self.close()
        root = self._key.path
        self._root = root.with_name(f"{root.name}-{name}") if name else root

    def close(self) -> None:
        self.rest()
        if self._path is not None:
            environment = _environments.pop(self._path, None)
            if environment is not None:
                environment.close()
            self._path = None


def _environment(path: str) -> Any:
    found = _environments.get(path)
    if found is None:
        found = lmdb.open(
            path,
            map_size=FIRST_MAP_BYTES,
            mode=0o600,
            sync=False,  # a cache: after a power failure it is not trusted
            metasync=False,
            writemap=False,  # a full tmpfs under writemap is a SIGBUS
            readahead=False,
            max_readers=1024,
        )
        _environments[path] = found
    return found


def _read(path: str) -> Any:
    """A read transaction."""
    environment = _environment(path)
    try:
        return environment.begin()
    except lmdb.MapResizedError:  # another process has grown it
        environment.set_mapsize(0)
        return environment.begin()


def _write(path: str, work: Callable[[Any], Any]) -> Any:
    """Run ``work`` in a write transaction, again whenever the map turns out too small."""
    environment = _environment(path)
    while True:
        try:
            with environment.begin(write=True) as txn:
                return work(txn)
        except lmdb.MapFullError:
            environment.set_mapsize(environment.info()["map_size"] * 2)
        except lmdb.MapResizedError:
            environment.set_mapsize(0)


def _put_all(txn: Any, keys: list[bytes], values: list[bytes], complete: bool) -> None:
    pairs: Iterable[tuple[bytes, bytes]] = zip(keys, values, strict=True)
    if complete:  # nothing lies below: a deletion needs no trace
        kept = []
        for key, value in pairs:
            if value == TOMBSTONE:
                txn.delete(key if len(key) <= LONGEST_KEY else _short(key))
            else:
                kept.append((key, value))
        pairs = kept
    with txn.cursor() as cursor:
        cursor.putmulti(
            [(k, v) if len(k) <= LONGEST_KEY else (_short(k), _pack_long(k, v)) for k, v in pairs]
        )


def _short(key: bytes) -> bytes:
    return key[:_PREFIX_BYTES] + hashlib.blake2b(key, digest_size=_HASH_BYTES).digest()


def _pack_long(key: bytes, value: bytes) -> bytes:
    return len(key).to_bytes(4, "big") + key + value


def _split_long(stored: bytes) -> tuple[bytes, bytes]:
    stop = 4 + int.from_bytes(stored[:4], "big")
    return stored[4:stop], stored[stop:]


def _unpack_long(key: bytes, stored: bytes | None) -> bytes | None:
    if stored is None:
        return None
    found, value = _split_long(stored)
    return value if found == key else None


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"
