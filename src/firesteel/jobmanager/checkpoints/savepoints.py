"""Savepoints: copies of a job's state that stand for themselves (Flink: canonical savepoints).

A savepoint is a directory ``savepoint-<job>-<random>`` with the manifest and all state files, in the
canonical form of ``state.canonical``. It refers to nothing outside, names its files relative to itself, and
may be moved. ``docs/state-format.md`` describes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from firesteel.common.errors import ConfigurationError
from firesteel.common.key_groups import key_group_range
from firesteel.jobmanager.checkpoints.storage import METADATA, check_files
from firesteel.jobmanager.epochs import DoParts
from firesteel.state.canonical import Part, empty_line, rewritten, states_of
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.manifest import (
    Manifest,
    OperatorEntry,
    SubtaskEntry,
    VertexEntry,
    encode_manifest,
    with_paths,
)
from firesteel.storage.durable import sync_file, sync_names
from firesteel.storage.filesystems import join, resolve_private

#: The largest state, in bytes, that the driver copies itself, which is then faster than starting tasks.
SMALL_BYTES: Final = 16 << 20


def write_savepoint(
    manifest: Manifest, files: StateFiles, directory: str | None, do_parts: DoParts | None = None
) -> str:
    """Write ``manifest``, made for a savepoint, with a copy of its state below ``directory``; the path. It is
    one as soon as its manifest is there, which is written last.

    :param files: where the state is read from.
    :param do_parts: copies large state in tasks, a piece for each subtask; None: it is copied here.
    """
    if directory is None:
        raise ConfigurationError(
            "No directory is set for savepoints",
            hint="name one, or set execution.checkpointing.savepoint-dir",
        )
    storage, root = resolve_private(directory)
    path = join(root, f"savepoint-{manifest.job_id[:6]}-{secrets.token_hex(6)}")
    copy = _Copy(manifest.vertices, files, StateFiles(path))
    large = sum(ref.length for ref in manifest.runs) > SMALL_BYTES
    try:
        run = do_parts if do_parts is not None and large else _here
        answers = iter(run(len(copy.subtasks), copy, "a savepoint"))
        vertices = [part for vertex in manifest.vertices for part in _taken_apart(vertex, answers)]
        whole = msgspec.structs.replace(manifest, vertices=tuple(vertices))
        check_files(with_paths(whole, partial(join, path)), path)
        if storage.is_local:
            written = [join(path, name) for name in whole.files]
            for file in written:
                sync_file(file)
            sync_names(written, root)
        storage.write(join(path, METADATA), encode_manifest(whole))
        if storage.is_local:
            sync_names((path,), root)  # a job without state has only now made a directory
    except BaseException:
        storage.delete_tree(path)
        raise
    return path


class _Copy:
    """The state of one subtask after the other in canonical form, by number; it may travel to tasks."""

    def __init__(self, vertices: Sequence[VertexEntry], files: StateFiles, target: StateFiles) -> None:
        self._files = files
        self._target = target
        self._vertices = [(v.max_parallelism, v.lines, states_of(v.lines, files)) for v in vertices]
        self.subtasks = [(v, n) for v, vertex in enumerate(vertices) for n in range(vertex.parallelism)]

    def __call__(self, number: int) -> bytes:
        vertex, subtask = self.subtasks[number]
        max_parallelism, lines, states = self._vertices[vertex]
        part = Part(lines[subtask], self._files, states)
        groups = key_group_range(max_parallelism, len(lines), subtask)
        return msgspec.msgpack.encode(rewritten([part], groups, self._target, f"state-{subtask}"))


def _here(parts: int, work: Callable[[int], bytes], what: str) -> list[bytes]:
    return list(map(work, range(parts)))


def _taken_apart(vertex: VertexEntry, answers: Iterator[bytes]) -> list[VertexEntry]:
    """A vertex for each operator; those without state too: a savepoint says of which job it is."""
    parts = [
        msgspec.msgpack.decode(next(answers), type=dict[str, StateLine]) for _ in range(vertex.parallelism)
    ]

    def of(operator: OperatorEntry) -> VertexEntry:
        lines = [part.get(operator.id) for part in parts]
        subtasks = [SubtaskEntry()] * len(lines)
        if any(lines):
            names = (f"state-{operator.id}-{number}" for number in range(len(lines)))
            subtasks = [
                SubtaskEntry(line or empty_line(name)) for line, name in zip(lines, names, strict=True)
            ]
        return VertexEntry(operator.id, operator.name, vertex.max_parallelism, (operator,), tuple(subtasks))

    return [of(operator) for operator in vertex.operators]
