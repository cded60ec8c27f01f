"""Where the checkpoints of a job lie, and who may write them.

::

    <directory>/<job id>/
        claims/<claim>             one empty file for each driver that has run the job
        _result                    what the job ended with (``results.py``): then there is nothing else
        shared/<claim>/...         what that driver's job wrote: state files above all
        chk-<id>/_metadata         the manifest of a checkpoint; ``chk-<id>-<number>`` of the second driver on

**Fencing.** A claim is ``<number>-<token>``; of all claims the greatest is the driver that counts. A driver
claims the job *before* it looks for a checkpoint to go on from, and looks at the claims *after* it has
written a manifest and before anything becomes visible because of it. So of two drivers either the old one
sees that it was superseded and commits nothing more, or its manifest was there when the new one looked: the
new one goes on from it and commits the same committables, which is idempotent. No step needs to be
exclusive, which object stores do not offer (``docs/design/checkpoints.md``).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol, cast

from firesteel.common.errors import (
    ConfigurationError,
    FiresteelError,
    PathNotFoundError,
    StateCorruptionError,
    StorageUnavailableError,
)
from firesteel.jobmanager.checkpoints.results import RESULT
from firesteel.state.files import StateFiles
from firesteel.state.manifest import Manifest, decode_manifest, encode_manifest, with_paths
from firesteel.storage.durable import sync_file, sync_names
from firesteel.storage.filesystems import FileInfo, join, resolve, resolve_private
from firesteel.storage.private_files import make_directories

METADATA: Final = "_metadata"
_CLAIM: Final = re.compile(r"(\d+)-([0-9a-f]+)")
_CHECKPOINT: Final = re.compile(r"chk-(\d+)(?:-(\d+))?")
_OF_JOBS: Final = ("shared", "claims")  # they alone write there


class HandedOverError(FiresteelError):
    """This driver may not go on with the job, which is not over: it is another driver's to go on."""


class SupersededError(HandedOverError):
    """Another driver has taken the job over: this one may not commit anything more."""


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """The right to commit for a job, until a greater one is made."""

    number: int
    token: str

    def __str__(self) -> str:
        return f"{self.number}-{self.token}"


@dataclass(frozen=True, slots=True, order=True)
class Stored:
    """A checkpoint that a directory has, complete or not: the newest is the greatest."""

    claim_number: int
    id: int
    path: str


class CheckpointStorage(Protocol):
    """Keeps the manifests of one job and says whether its driver still counts."""

    @property
    def claim(self) -> str: ...

    @property
    def durable(self) -> bool:
        """Whether another driver finds what is kept here."""

    def path_of(self, checkpoint_id: int) -> str:
        """Where the manifest of a checkpoint of this driver is kept, or would be."""

    def publish(self, manifest: Manifest) -> tuple[str, int]:
        """Keep a manifest, whole or not at all: its path and its size in bytes."""

    def discard(self, path: str) -> None:
        """Remove a manifest; nothing happens when it is not there."""

    def check(self) -> None:
        """Raises SupersededError when another driver has taken the job over."""

    def record_end(self, result: bytes) -> None:
        """The job is over, and its checkpoints are none any more. ``result``: what it ended with."""

    def dispose(self) -> None:
        """Remove them; the end is recorded."""


class MemoryStorage:
    """Checkpoints in the job manager: they end with it (Flink: ``JobManagerCheckpointStorage``).

    :param state_root: where the job keeps its files.
    """

    claim = "0-memory"
    durable = False

    def __init__(self, state_root: str) -> None:
        self._state_root = state_root

    def path_of(self, checkpoint_id: int) -> str:
        return f"<checkpoint-not-externally-addressable>/chk-{checkpoint_id}"

    def publish(self, manifest: Manifest) -> tuple[str, int]:
        return self.path_of(manifest.id), len(encode_manifest(manifest))

    def discard(self, path: str) -> None: ...

    def check(self) -> None: ...

    def record_end(self, result: bytes) -> None: ...

    def dispose(self) -> None:
        if "://" not in self._state_root:
            shutil.rmtree(self._state_root, ignore_errors=True)


class CheckpointDirectory:
    """The checkpoints of one job below ``directory``, for a driver that has claimed it.

    :param keeps_result: what the job ended with outlives it.
    """

    durable = True

    def __init__(self, directory: str, job_id: str, *, keeps_result: bool = False) -> None:
        self._keeps_result = keeps_result
        self._storage, root = resolve_private(directory)
        self.root = join(root, job_id)
        try:
            self._claim = self._make_claim()
        except OSError as error:
            raise ConfigurationError(
                f"The checkpoint directory {directory} cannot be used: {error.strerror or error}.",
                detail=f"a file could not be written in {self.root}",
                hint=getattr(error, "hint", None)
                or "set execution.checkpointing.dir to a directory that driver and workers can write",
            ) from error
        self._synced: frozenset[str] = frozenset()  # of the checkpoint before

    def _make_claim(self) -> Claim:
        """A claim above all others, and no two have one number: of those who try at once the later sees the
        earlier, and tries again."""
        while True:
            number = max((claim.number for claim in self._claims()), default=0) + 1
            claim = Claim(number, secrets.token_hex(4))
            path = join(self.root, "claims", str(claim))
            self._storage.write(path, b"")
            if not any(other.number >= number and other != claim for other in self._claims()):
                return claim
            self._storage.delete(path)

    @property
    def claim(self) -> str:
        return str(self._claim)

    @property
    def state_root(self) -> str:
        """Where the job writes its state files: a place of its own for each driver, so that what an old
        driver still writes and deletes is never what a new one uses."""
        return join(self.root, "shared", self.claim)

    def path_of(self, checkpoint_id: int) -> str:
        name = f"chk-{checkpoint_id}"
        return join(self.root, name if self._claim.number == 1 else f"{name}-{self._claim.number}")

    def publish(self, manifest: Manifest) -> tuple[str, int]:
        path = self.path_of(manifest.id)
        data = encode_manifest(with_paths(manifest, self._inner))
        self._sync(manifest.files)
        self._storage.write(join(path, METADATA), data)
        if self._storage.is_local:
            sync_names((path,), self.root)
        return path, len(data)

    def _sync(self, names: frozenset[str]) -> None:
        """The state files come before the manifest that refers to them. Epochs write them without waiting for
        the disk: most are gone before a checkpoint needs them. Those of other drivers were synced by them."""
        new = [join(self.state_root, name) for name in names - self._synced if not is_absolute(name)]
        if self._storage.is_local:
            for path in new:
                sync_file(path)
            sync_names(new, self.root)
        self._synced = names

    def _inner(self, path: str) -> str:
        """A file's name relative to the directory of the job, where it lies in it: that may be moved."""
        whole = path if is_absolute(path) else join(self.state_root, path)
        return whole.removeprefix(self.root + "/")

    def discard(self, path: str) -> None:
        remove_manifest(path)

    def check(self) -> None:
        claims = self._claims()
        if max(claims, default=None) == self._claim:
            return
        if not claims:
            raise SupersededError(
                f"The checkpoint directory {self.root} is gone; this driver commits nothing more.",
                detail=f"claim {self._claim} is not there: the directory was removed while the job was "
                "running, or a newer driver has run the job until it ended",
                hint="leave the directory of a running job alone; start the job again, from a savepoint if "
                "there is one, for its checkpoints are gone too",
            )
        raise SupersededError(
            "Another driver has taken this job over; this one commits nothing more.",
            detail=f"claim {max(claims)} came after {self._claim} in {self.root}",
            hint="let the newer driver run the job",
        )

    def _claims(self) -> list[Claim]:
        names = (info.name for info in self._storage.list_dir(join(self.root, "claims")))
        found = (_CLAIM.fullmatch(name) for name in names)  # not what is just being written
        return [Claim(int(match[1]), match[2]) for match in found if match]

    def record_end(self, result: bytes) -> None:
        self._storage.write(join(self.root, RESULT), result)

    def dispose(self) -> None:
        for info in self._storage.list_dir(self.root):
            if info.is_dir and _CHECKPOINT.fullmatch(info.name):
                remove_manifest(info.path)
        for name in _OF_JOBS:
            self._storage.delete_tree(join(self.root, name))
        if not self._keeps_result:
            self._storage.delete(join(self.root, RESULT))
            self._storage.delete_empty(self.root)


def is_disposed(job_root: str) -> bool:
    """Whether there is nothing in the directory of a job that a driver would need which goes on with it."""
    storage, root = resolve(job_root)
    return not any(
        info.is_dir and (info.name in _OF_JOBS or _CHECKPOINT.fullmatch(info.name))
        for info in storage.list_dir(root)
    )


def remove_manifest(path: str) -> None:
    """Make the directory of a checkpoint or savepoint none: its manifest goes, and what a driver that was
    killed has left of one; then the directory, unless something else is in it."""
    storage, where = resolve(path)
    for info in storage.list_dir(where):
        if info.name.startswith(f".{METADATA}."):
            storage.delete(info.path)  # first: a storage that was away may still rename it to the manifest
    storage.delete(join(where, METADATA))
    storage.delete_empty(where)


def stored_checkpoints(job_root: str) -> list[Stored]:
    """The checkpoints below the directory of a job, the newest first: those of a later driver are newer."""
    storage, root = resolve(job_root)
    found = []
    for info in storage.list_dir(root):
        match = _CHECKPOINT.fullmatch(info.name)
        if match and storage.info(join(info.path, METADATA)) is not None:
            found.append(Stored(int(match[2] or 1), int(match[1]), info.path))
    return sorted(found, reverse=True)


def snapshot_directory(path: str) -> str:
    """Of a checkpoint or savepoint, of which the directory or the ``_metadata`` file is named."""
    return resolve(path)[1].rstrip("/").removesuffix("/" + METADATA)


def files_of(manifest: Manifest, directory: str) -> str:
    """Where the state files lie of a snapshot in ``directory``: in a savepoint, beside a checkpoint."""
    return directory if manifest.savepoint else directory.rpartition("/")[0]


def load_manifest(path: str) -> Manifest:
    """The manifest of a checkpoint or savepoint as it stands; nobody looks whether its files are there.

    :param path: the directory, or the ``_metadata`` file in it.
    :raises PathNotFoundError: there is none.
    :raises StateCorruptionError: it is damaged.
    """
    where = snapshot_directory(path)
    storage, _ = resolve(where)
    file = join(where, METADATA)
    try:
        if storage.info(file) is None:
            raise PathNotFoundError(
                f"There is no checkpoint or savepoint at {path}.", detail=f"{file} does not exist"
            )
        with storage.open_input(file) as stream:
            data = stream.read()
    except (PathNotFoundError, StorageUnavailableError):
        raise
    except OSError as error:
        raise StateCorruptionError(
            f"The manifest {file} cannot be read: {error.strerror or error}.",
            hint="make it readable, or restore the job from another checkpoint or savepoint",
        ) from error
    return decode_manifest(data, file)


def read_manifest(path: str) -> Manifest:
    """The manifest of a checkpoint or savepoint, with complete names of its files.

    :param path: the directory, or the ``_metadata`` file in it.
    :raises StateCorruptionError: it is damaged, or a file that it refers to is missing.
    """
    manifest = load_manifest(path)
    where = snapshot_directory(path)
    file = join(where, METADATA)
    base = files_of(manifest, where)
    manifest = with_paths(manifest, lambda name: name if is_absolute(name) else join(base, name))
    check_files(manifest, file)
    return manifest


def check_files(manifest: Manifest, name: str) -> None:
    """Every state file is there and long enough; what is in it is checked when it is read."""
    needed: dict[str, int] = {}
    for ref in manifest.runs:
        needed[ref.path] = max(needed.get(ref.path, 0), ref.offset + ref.length)
    for path, length in sorted(needed.items()):
        storage, inner = resolve(path)
        try:
            info = storage.info(inner)
        except StorageUnavailableError:
            raise
        except OSError as error:
            raise _incomplete(name, f"the state file {path} cannot be read: {error.strerror}") from error
        if info is None or info.is_dir or info.size < length:
            raise _incomplete(name, f"the state file {path} {_what_is(info)}, {length} bytes belong there")


def _what_is(info: FileInfo | None) -> str:
    if info is None:
        return "is missing"
    return "is a directory" if info.is_dir else f"has {info.size} bytes"


def _incomplete(name: str, what: str) -> StateCorruptionError:
    return StateCorruptionError(
        f"What the manifest {name} refers to is damaged: {what}.",
        hint="restore the job from another checkpoint or savepoint",
    )


def is_absolute(path: str) -> bool:
    """Whether a name in a manifest does not lie in the directory of its snapshot."""
    return path.startswith("/") or "://" in path


def copy_into(files: StateFiles, path: str) -> str:
    """Make a state file from elsewhere one of ``files``, whole or not at all; its name there."""
    name = f"copied-{hashlib.blake2b(path.encode(), digest_size=16).hexdigest()}.run"
    from_storage, source = resolve(path)
    to_storage, target = resolve_private(files.path_of(name))
    if to_storage.info(target) is not None:
        return name
    if from_storage.is_local and to_storage.is_local and _linked(source, target):
        return name
    with tempfile.TemporaryFile() as spool, from_storage.open_input(source) as stream:
        shutil.copyfileobj(stream, spool, 1 << 20)
        spool.seek(0)
        to_storage.write_whole(target, cast(BinaryIO, spool))
    return name


def _linked(source: str, target: str) -> bool:
    """State files are never changed, so on one file system a second name is as good as a copy, and free."""
    make_directories(os.path.dirname(target))
    try:
        os.link(source, target)
    except OSError:
        return False
    return True
