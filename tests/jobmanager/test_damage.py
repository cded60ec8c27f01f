"""Snapshot files that are damaged: each damage is found and named, none gives a wrong result, and where there
is an older checkpoint it is used."""

from __future__ import annotations

import hashlib
import logging
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest

from firesteel.common.errors import FiresteelError, StateCorruptionError
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints.recovery import recovered
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory, read_manifest, stored_checkpoints
from firesteel.jobmanager.restarts import causes_of
from firesteel.state import files as state_files
from firesteel.state.line import RunRef, StateLine
from firesteel.state.manifest import FORMAT_VERSION, Manifest, decode_manifest, encode_manifest
from firesteel.storage import filesystems as _storage
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import RECOVERY, submit
from tests.jobmanager.test_recovery import (
    FIXED,
    MANY,
    cancelled_half_way,
    counting,
    every_epoch,
    expected,
    the_job,
)
from tests.runtime.support import local_platform
from tests.waiting import patience

_HEAD = struct.Struct(">8sHQ16s")  # of a manifest
_FOOTER = struct.Struct("<QQIQH6s")  # of a run


@dataclass(frozen=True)
class Place:
    """A file of the newest checkpoint, and what else may come into its place."""

    file: Path
    older: Path  # the same of the checkpoint before
    refs: list[RunRef]  # what is in the file, if it is a state file
    monkeypatch: pytest.MonkeyPatch

    def change(self, how: Callable[[bytearray], Any]) -> None:
        data = bytearray(self.file.read_bytes())
        how(data)
        self.file.write_bytes(data)

    def flip(self, at: float) -> None:
        self.change(lambda d: d.__setitem__(int(at * (len(d) - 1)), d[int(at * (len(d) - 1))] ^ 0x10))

    def with_manifest(self, how: Callable[[Manifest], Manifest]) -> None:
        manifest = decode_manifest(self.file.read_bytes(), "before")
        self.file.write_bytes(encode_manifest(how(manifest)))

    def with_refs(self, **changes: Any) -> None:
        """Every run of the manifest, with a sound checksum, as a writer that is wrong makes it."""

        def changed(line: StateLine) -> StateLine:
            deltas = tuple(
                d if d.run is None else msgspec.structs.replace(d, run=replaced(d.run)) for d in line.deltas
            )
            return msgspec.structs.replace(line, segments=tuple(map(replaced, line.segments)), deltas=deltas)

        def replaced(ref: RunRef) -> RunRef:
            return msgspec.structs.replace(ref, **changes)

        def of(manifest: Manifest) -> Manifest:
            replace = msgspec.structs.replace
            vertices = tuple(
                replace(v, subtasks=tuple(replace(s, line=changed(s.line)) for s in v.subtasks))
                for v in manifest.vertices
            )
            return replace(manifest, vertices=vertices)

        self.with_manifest(of)

    def with_body(self, change: Callable[[dict[str, Any]], Any]) -> None:
        data = self.file.read_bytes()
        body = msgspec.msgpack.decode(data[_HEAD.size :])
        change(body)
        encoded = msgspec.msgpack.encode(body)
        digest = hashlib.blake2b(encoded, digest_size=16).digest()
        self.file.write_bytes(_HEAD.pack(b"FSMANIF\n", FORMAT_VERSION, len(encoded), digest) + encoded)

    def with_footer(self, change: Callable[[list[Any]], Any]) -> None:
        """The footers of all runs in a state file."""

        def footers(data: bytearray) -> None:
            for ref in self.refs:
                at = ref.offset + ref.length - _FOOTER.size
                fields = list(_FOOTER.unpack_from(data, at))
                change(fields)
                _FOOTER.pack_into(data, at, *fields)

        self.change(footers)

    def with_other_index(self) -> None:
        """Blocks that lie behind the end of the file, with a sound checksum."""

        def indexes(data: bytearray) -> None:
            for ref in self.refs:
                at = ref.offset + ref.length - _FOOTER.size
                offset, length, _, *rest = _FOOTER.unpack_from(data, at)
                start = ref.offset + offset
                index = msgspec.msgpack.decode(bytes(data[start : start + length]))
                index[2] = b"\x7f" * len(index[2])
                encoded = msgspec.msgpack.encode(index)
                data[start : start + length] = encoded
                _FOOTER.pack_into(data, at, offset, length, crc32(encoded), *rest)

        self.change(indexes)

    def replace_by(self, make: Callable[[Path], Any]) -> None:
        self.file.unlink()
        make(self.file)

    def make_unreadable(self) -> None:
        """Root may read everything, so the right is taken away at the call."""

        def refusing(path: Any, *args: Any, **options: Any) -> Any:
            if str(path) == str(self.file):
                raise PermissionError(13, "Permission denied", str(path))
            return open(path, *args, **options)

        for module in (_storage, state_files):
            self.monkeypatch.setattr(module, "open", refusing, raising=False)

    def overwrite_runs(self) -> None:
        """Another sound run of the very same length and place."""

        def swap(data: bytearray) -> None:
            for ref in self.refs:
                run = data[ref.offset : ref.offset + ref.length]
                data[ref.offset : ref.offset + ref.length] = _other_run(bytes(run))

        self.change(swap)


def _other_run(data: bytes) -> bytes:
    """The run with a bit of its last value changed, and all checksums right."""
    offset, length, _, *rest = _FOOTER.unpack_from(data, len(data) - _FOOTER.size)
    index = msgspec.msgpack.decode(data[offset : offset + length])
    starts = struct.unpack(f"<{len(index[0])}Q", index[2])
    blocks = bytearray(data[:offset])
    blocks[-1] ^= 1
    ends = [*starts[1:], offset]
    crcs = [crc32(blocks[a:b]) for a, b in zip(starts, ends, strict=True)]
    index[5] = struct.pack(f"<{len(crcs)}I", *crcs)
    encoded = msgspec.msgpack.encode(index)
    return bytes(blocks) + encoded + _FOOTER.pack(offset, length, crc32(encoded), *rest)


def _loop(path: Path) -> None:
    path.symlink_to(path)


ANY_FILE: dict[str, Callable[[Place], Any]] = {
    "a flipped bit at its beginning": lambda p: p.flip(0.0),
    "a flipped bit in its first half": lambda p: p.flip(0.3),
    "a flipped bit in its second half": lambda p: p.flip(0.7),
    "a flipped bit at its end": lambda p: p.flip(1.0),
    "empty": lambda p: p.file.write_bytes(b""),
    "cut by a byte": lambda p: p.change(lambda d: d.pop()),
    "half-written": lambda p: p.change(lambda d: d.__delitem__(slice(len(d) // 2, None))),
    "its second half is zero": lambda p: p.change(
        lambda d: d.__setitem__(slice(len(d) // 2, None), bytes(len(d) - len(d) // 2))
    ),
    "something else": lambda p: p.change(
        lambda d: d.__setitem__(slice(None), (b"PK\x03\x04 else" * len(d))[: len(d)])
    ),
    "that of the checkpoint before": lambda p: shutil.copyfile(p.older, p.file),
    "a directory": lambda p: p.replace_by(Path.mkdir),
    "a link that leads in a circle": lambda p: p.replace_by(_loop),
    "not to be read": Place.make_unreadable,
}
MANIFEST: dict[str, Callable[[Place], Any]] = {
    "longer": lambda p: p.change(lambda d: d.extend(b"more")),
    "cut in its head": lambda p: p.change(lambda d: d.__delitem__(slice(20, None))),
    "of a newer format": lambda p: p.change(lambda d: d.__setitem__(9, d[9] + 1)),
    "of another job": lambda p: p.with_manifest(lambda m: msgspec.structs.replace(m, job_id="a" * 32)),
    "of a savepoint": lambda p: p.with_manifest(lambda m: msgspec.structs.replace(m, savepoint=True)),
    "without a field": lambda p: p.with_body(lambda b: b.pop("vertices")),
    "with another type": lambda p: p.with_body(lambda b: b.__setitem__("epoch", "seven")),
    "with a negative size": lambda p: p.with_refs(length=-5),
    "with a negative place": lambda p: p.with_refs(offset=-1),
    "with a place behind the end": lambda p: p.with_refs(offset=1 << 40),
    "with impossible key groups": lambda p: p.with_refs(first_group=7, last_group=3),
    "with files that lie outside": lambda p: p.with_refs(path="../../secret"),
    "with files that are not there": lambda p: p.with_refs(path="shared/1-0/gone.run"),
}
STATE: dict[str, Callable[[Place], Any]] = {
    "missing": lambda p: p.file.unlink(),
    "of a newer format": lambda p: p.with_footer(lambda f: f.__setitem__(4, f[4] + 1)),
    "with an index outside of it": lambda p: p.with_footer(lambda f: f.__setitem__(0, 1 << 50)),
    "with an index of enormous length": lambda p: p.with_footer(lambda f: f.__setitem__(1, (1 << 63) + 5)),
    "with blocks outside of it": Place.with_other_index,
    "with another number of entries": lambda p: p.with_footer(lambda f: f.__setitem__(3, f[3] + 1)),
    "another sound run of its length": Place.overwrite_runs,
}
CASES = [
    *(("manifest", name, how) for name, how in (ANY_FILE | MANIFEST).items()),
    *(("state", name, how) for name, how in (ANY_FILE | STATE).items()),
]
IDS = [f"{kind}: {name}" for kind, name, _ in CASES]
every_damage = pytest.mark.parametrize(("kind", "name", "how"), CASES, ids=IDS)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The checkpoints of a job that has failed half-way, and what it has given."""
    directory = tmp_path_factory.mktemp("failed")
    with local_platform():
        sink = cancelled_half_way(directory)
    return directory, sink.values


def damage(directory: Path, kind: str, how: Callable[[Place], Any], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Do it to a file that the newest checkpoint has and no older one."""
    newest, older = stored_checkpoints(str(the_job(directory)))[:2]
    if kind == "manifest":
        place = Place(Path(newest.path) / "_metadata", Path(older.path) / "_metadata", [], monkeypatch)
    else:
        manifests = read_manifest(newest.path), read_manifest(older.path)
        own, others = (
            {ref.path for ref in m.runs} - {ref.path for ref in o.runs}
            for m, o in (manifests, manifests[::-1])
        )
        path = sorted(own)[-1]
        refs = {(r.offset, r.length): r for r in manifests[0].runs if r.path == path}
        place = Place(Path(path), Path(sorted(others)[-1]), list(refs.values()), monkeypatch)
    how(place)
    return place.file


def run_on(directory: Path, **options: str) -> tuple[Any, CollectingSink]:
    env = every_epoch(directory, **{RECOVERY: "latest", **MANY, **options})
    sink = counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    return job, sink


@every_damage
@pytest.mark.row("S-FAIL-02")
def test_an_older_checkpoint_is_used(
    failed: tuple[Path, list[Any]],
    tmp_path: Path,
    kind: str,
    name: str,
    how: Callable[[Place], Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    directory, before = shutil.copytree(failed[0], tmp_path / "job"), failed[1]
    older = stored_checkpoints(str(the_job(directory)))[1]
    file = damage(directory, kind, how, monkeypatch)
    with caplog.at_level(logging.WARNING):
        job, sink = run_on(directory, **FIXED)
    assert job.status is JobStatus.FINISHED, job.error
    assert job.view.checkpoints.restored_from == older.path
    assert any(file.name in record.getMessage() for record in caplog.records), "the file is named"
    assert set(before) | set(sink.values) == set(expected())
    lasts = Counter(value for value in sink.values if value[0] == "all")
    assert lasts == Counter(value for value in expected().elements() if value[0] == "all")


@every_damage
@pytest.mark.row("S-FAIL-02")
def test_without_an_older_one_the_damage_is_the_error(
    failed: tuple[Path, list[Any]],
    tmp_path: Path,
    kind: str,
    name: str,
    how: Callable[[Place], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory, before = shutil.copytree(failed[0], tmp_path / "job"), failed[1]
    file = damage(directory, kind, how, monkeypatch)
    for stored in stored_checkpoints(str(the_job(directory)))[1:]:
        shutil.rmtree(stored.path)
    try:
        job, sink = run_on(directory, **{"restart-strategy.type": "none"})
    except FiresteelError as error:
        found: BaseException = error
    else:
        assert job.status is JobStatus.FAILED
        found = job.error
        assert set(sink.values) <= set(before), "what had been committed"
    corrupt = [e for e in causes_of(found) if isinstance(e, StateCorruptionError)]
    assert corrupt, repr(found)
    assert file.name in str(corrupt[0])


def test_thirty_kinds_of_damage_are_looked_at() -> None:
    assert len(CASES) >= 30


def test_a_checkpoint_under_another_name_is_not_taken(failed: tuple[Path, list[Any]], tmp_path: Path) -> None:
    """Else the newest would be an old one: its output would come again."""
    directory = shutil.copytree(failed[0], tmp_path / "job")
    job = the_job(directory)
    checkpoints = stored_checkpoints(str(job))
    Path(checkpoints[-1].path).rename(job / "chk-999")
    found = recovered(CheckpointDirectory(str(directory), job.name))
    assert [c.path for c in found] == [c.path for c in checkpoints[-2::-1]]


def test_a_job_under_another_name_is_not_taken(failed: tuple[Path, list[Any]], tmp_path: Path) -> None:
    directory = shutil.copytree(failed[0], tmp_path / "job")
    the_job(directory).rename(directory / ("b" * 32))
    with pytest.raises(StateCorruptionError, match="not the one that belongs there"):
        run_on(directory)
