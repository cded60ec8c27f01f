"""The manifest: everything that a checkpoint or a savepoint is made of. Pure data, and its one file format.

::

    magic    8 bytes   "FSMANIF\\n"
    version  2 bytes   big-endian
    length   8 bytes   big-endian, of the body
    digest  16 bytes   blake2b-128 of the body
    body               MessagePack map; its field names are those of ``Manifest``

A manifest is read whole or not at all: what is too short, too long, foreign, or changed by one bit is a
``StateCorruptionError`` that names the file. State files are only referred to (``StateLine``); they carry
checksums of their own.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from firesteel.common.errors import StateCorruptionError
from firesteel.state.line import EMPTY, OPERATOR_GROUP, RunRef, StateLine, renamed

__all__ = [
    "FORMAT_VERSION",
    "Manifest",
    "OperatorEntry",
    "SubtaskEntry",
    "VertexEntry",
    "decode_manifest",
    "encode_manifest",
    "with_paths",
]

FORMAT_VERSION: Final = 1
_MAGIC: Final = b"FSMANIF\n"
_MOST_KEY_GROUPS: Final = 1 << 15
_HEAD: Final = struct.Struct(">8sHQ16s")


class OperatorEntry(msgspec.Struct, frozen=True):
    """An operator of a vertex. ``id`` finds its state again; ``uid`` is what the program gave it, if
    anything."""

    id: str
    name: str
    uid: str | None = None


class SubtaskEntry(msgspec.Struct, frozen=True):
    """One subtask.

    :param carry: what its operators, gates and routers remember from epoch to epoch and that is not state
        (watermarks above all); None in a savepoint.
    :param next_timer_ms: the processing time at which something is due.
    """

    line: StateLine = EMPTY
    carry: bytes | None = None
    next_timer_ms: int | None = None
    ended: bool = False


class VertexEntry(msgspec.Struct, frozen=True):
    """Some operators whose state lies together: a chain, in a savepoint a single operator."""

    id: str
    name: str
    max_parallelism: int
    operators: tuple[OperatorEntry, ...]
    subtasks: tuple[SubtaskEntry, ...]

    @property
    def parallelism(self) -> int:
        return len(self.subtasks)

    @property
    def lines(self) -> tuple[StateLine, ...]:
        return tuple(subtask.line for subtask in self.subtasks)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A consistent cut through a job.

    :param id: number of the checkpoint or savepoint within its job.
    :param claim: the driver that wrote it: ``number-token`` (``jobmanager.checkpoints.storage``).
    :param now_ms: processing time of the cut, which never goes back.
    :param topology: digest of the job graph: only where it is the same can carries be used.
    :param sources: pickled progress of each source, by operator id.
    :param sinks: pickled committables of each sink that must be committed (again), by operator id.
    :param accumulators: pickled accumulators of the job; empty in a savepoint.
    :param claimed: directories of other jobs' snapshots whose files have become the job's own.
    """

    id: int
    savepoint: bool
    job_id: str
    job_name: str
    claim: str
    triggered_ms: int
    epoch: int
    now_ms: int
    topology: str
    vertices: tuple[VertexEntry, ...]
    sources: dict[str, bytes]
    sinks: dict[str, bytes]
    accumulators: bytes = b""
    claimed: tuple[str, ...] = ()

    @property
    def operators(self) -> dict[str, OperatorEntry]:
        """All operators, by id."""
        return {operator.id: operator for vertex in self.vertices for operator in vertex.operators}

    @property
    def runs(self) -> Iterator[RunRef]:
        """The runs of all subtasks."""
        return (ref for vertex in self.vertices for line in vertex.lines for ref in line.runs)

    @property
    def files(self) -> frozenset[str]:
        """The state files that must be there, as the manifest calls them."""
        return frozenset(ref.path for ref in self.runs)


def with_paths(manifest: Manifest, path_of: Callable[[str], str]) -> Manifest:
    """The manifest with other names for its files."""
    vertices = tuple(vertex_with_paths(vertex, path_of) for vertex in manifest.vertices)
    return msgspec.structs.replace(manifest, vertices=vertices)


def vertex_with_paths(vertex: VertexEntry, path_of: Callable[[str], str]) -> VertexEntry:
    def moved(subtask: SubtaskEntry) -> SubtaskEntry:
        return msgspec.structs.replace(subtask, line=renamed(subtask.line, path_of))

    return msgspec.structs.replace(vertex, subtasks=tuple(map(moved, vertex.subtasks)))


def encode_manifest(manifest: Manifest) -> bytes:
    body = msgspec.msgpack.encode(manifest)
    return _HEAD.pack(_MAGIC, FORMAT_VERSION, len(body), _digest(body)) + body


def decode_manifest(data: bytes, name: str) -> Manifest:
    """:param name: names the file in errors."""
    if len(data) < _HEAD.size:
        raise _damaged(name, f"it ends after {len(data)} bytes")
    magic, version, length, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise _damaged(name, "it is not a manifest of Firesteel, or its beginning is damaged")
    if version != FORMAT_VERSION:
        raise _damaged(name, f"its format has version {version}, this release reads {FORMAT_VERSION}")
    body = data[_HEAD.size :]
    if len(body) != length:
        raise _damaged(name, f"it has {len(body)} bytes where {length} belong")
    if _digest(body) != digest:
        raise _damaged(name, "its checksum is wrong")
    try:
        manifest = msgspec.msgpack.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise _damaged(name, str(error)) from error
    _check(manifest, name)
    return manifest


def _check(manifest: Manifest, name: str) -> None:
    """A writer that was wrong makes a sound checksum too."""
    for vertex in manifest.vertices:
        if not 0 < vertex.max_parallelism <= _MOST_KEY_GROUPS:
            raise _damaged(name, f"{vertex.name!r} has max parallelism {vertex.max_parallelism}")
    for ref in manifest.runs:
        if ref.offset < 0 or ref.length <= 0 or ref.entries < 0:
            raise _damaged(name, f"{ref.path} has {ref.length} bytes from {ref.offset} on")
        if not 0 <= ref.first_group <= ref.last_group <= OPERATOR_GROUP:
            raise _damaged(name, f"{ref.path} has the key groups {ref.first_group} to {ref.last_group}")
        if not ref.path or ".." in ref.path.split("/"):
            raise _damaged(name, f"it refers to {ref.path!r}, outside of its directory")


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _damaged(name: str, what: str) -> StateCorruptionError:
    return StateCorruptionError(
        f"The manifest {name} is damaged: {what}.",
        hint="restore the job from another checkpoint or savepoint",
    )
