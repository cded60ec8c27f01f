"""Copies of remote state files on a host: who restores there reads nothing remote, and nothing wrong."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from firesteel.common.configuration import Configuration
from firesteel.common.options import checkpointing as options
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state import local_copies as module
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.files import StateFiles
from firesteel.state.line import StateLine
from firesteel.state.local_copies import LocalCopies, local_copies

from .support import Driver, use

TEXT = ValueStateDescriptor("text", Types.STRING())
JOB = "0" * 32
EPOCHS = 12
LARGE = 200  # values of an epoch that is written to a file; those of others travel in the answer
#: Nothing is loaded ahead and little is kept: what is asked for is read.
COLD = StateLimits(warm_entries=0, cache_entries=100, local_store=False)


class FarFiles(StateFiles):
    """Files in a remote file system: a directory, where each read is counted."""

    def __init__(self, far: Path, copies: LocalCopies | None) -> None:
        super().__init__("far://host", copies)
        far.mkdir(exist_ok=True)
        self._far = SubTreeFileSystem(str(far), LocalFileSystem())
        self.reads = self.bytes_read = 0

    def _file_system(self, path: str) -> tuple[Any, str]:
        return self._far, path.removeprefix("far://host/")

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        data = super().read(name, offset, length)
        self.reads += 1
        self.bytes_read += len(data)
        return data


def host(directory: Path) -> LocalCopies:
    return LocalCopies(directory / JOB)


def write(epoch: int) -> Callable[[OperatorState], None]:
    def work(operator: OperatorState) -> None:
        for number in range(LARGE if epoch % 2 else 3):
            use(operator, number).get_state(TEXT).update(f"{epoch}:{number} " * 80)

    return work


def read_all(operator: OperatorState) -> list[str]:
    values = (use(operator, number).get_state(TEXT).value() for number in range(LARGE))
    return [value.partition(" ")[0] for value in values]


EXPECTED = [f"{EPOCHS - 1}:{number}" for number in range(LARGE)]


def written(files: StateFiles) -> Driver:
    driver = Driver(files, COLD)
    state = driver.process()
    for epoch in range(EPOCHS):
        driver.run(state, write(epoch))
    return driver


def restored(files: StateFiles, line: StateLine) -> list[str]:
    """What a process that begins with ``line`` finds."""
    process = Driver(files, COLD).process()
    process.begin(line, 0)
    found = read_all(process.operator("op"))
    process.close()
    return found


@pytest.mark.row("S-SLOT-20", "S-BACK-22")
def test_the_second_restore_on_a_host_reads_nothing_remote(tmp_path: Path) -> None:
    line = written(FarFiles(tmp_path / "far", None)).line
    for expect_reads in (True, False):
        files = FarFiles(tmp_path / "far", host(tmp_path / "other"))
        assert restored(files, line) == EXPECTED
        assert (files.bytes_read > 0) is expect_reads


@pytest.mark.row("S-SLOT-20", "S-BACK-22")
def test_the_host_that_has_written_the_files_does_not_read_them(tmp_path: Path) -> None:
    """Broken by hand: files are uploaded and not kept."""
    line = written(FarFiles(tmp_path / "far", host(tmp_path))).line
    answers = sum(ref.length for ref in line.live_runs if not ref.path.endswith(".run"))
    files = FarFiles(tmp_path / "far", host(tmp_path))
    assert restored(files, line) == EXPECTED
    assert files.bytes_read <= answers, "the driver writes what travels in answers"
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.row("S-FAIL-18")
def test_a_restore_with_copies_waits_for_nothing_remote(tmp_path: Path) -> None:
    """Each read from afar takes its time, of which copies need none; to make them takes no more than one read
    of each file."""
    line = written(FarFiles(tmp_path / "far", None)).line
    reads = []
    for copies in (None, host(tmp_path), host(tmp_path)):
        files = FarFiles(tmp_path / "far", copies)
        assert restored(files, line) == EXPECTED
        reads.append(files.reads)
    without, making, with_copies = reads
    assert 0 < making <= without
    assert with_copies == 0


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "replaced"])
def test_a_damaged_copy_is_fetched_again(tmp_path: Path, damage: str) -> None:
    line = written(FarFiles(tmp_path / "far", None)).line
    restored(FarFiles(tmp_path / "far", host(tmp_path)), line)
    copies = sorted(path for path in (tmp_path / JOB / "copies").rglob("*") if path.is_file())
    for copy, other in zip(copies, copies[1:] + copies[:1], strict=True):
        data = copy.read_bytes()
        middle = len(data) // 2
        copy.write_bytes(
            {
                "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
                "cut": data[:-1],
                "emptied": b"",
                "replaced": other.read_bytes(),
            }[damage]
        )
    files = FarFiles(tmp_path / "far", host(tmp_path))
    assert restored(files, line) == EXPECTED
    assert files.bytes_read == sum({(r.path, r.offset): r.length for r in line.live_runs}.values())
    again = FarFiles(tmp_path / "far", host(tmp_path))
    assert restored(again, line) == EXPECTED
    assert again.bytes_read == 0


def test_without_room_for_copies_the_job_goes_on(tmp_path: Path) -> None:
    (tmp_path / JOB).write_text("a file in the place of the directory")
    files = FarFiles(tmp_path / "far", host(tmp_path))
    assert restored(files, written(files).line) == EXPECTED


def test_copies_go_when_their_originals_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MADE_BETWEEN_LOOKS", 1)
    driver = Driver(FarFiles(tmp_path / "far", host(tmp_path)), COLD)
    state = driver.process()
    for epoch in range(40):
        driver.run(state, write(epoch))
    assert driver.gone
    there = {path.relative_to(tmp_path / "far").as_posix() for path in (tmp_path / "far").rglob("*.run")}
    kept = {
        path.relative_to(tmp_path / JOB / "copies").as_posix()
        for path in (tmp_path / JOB / "copies").rglob("*.run")
    }
    assert kept <= there | set(driver.gone[-4:]), "what was deleted since the last look may be there yet"


@pytest.mark.row("S-SLOT-20")
def test_they_are_kept_where_the_configuration_says() -> None:
    def of(**settings: str) -> LocalCopies | None:
        named = {getattr(options, name).key: value for name, value in settings.items()}
        return local_copies(Configuration.from_dict(named), "/local", JOB)

    assert of() is None
    default, named = of(LOCAL_BACKUP="true"), of(LOCAL_BACKUP="true", LOCAL_BACKUP_DIRECTORIES="/fast:/other")
    assert default is not None
    assert named is not None
    assert str(default._root) == f"/local/{JOB}/copies"
    assert str(named._root) == f"/fast/{JOB}/copies"
    older = Configuration.from_dict({"state.backend.local-recovery": "true"})
    assert local_copies(older, "/local", JOB) is not None
    assert local_copies(older, None, JOB) is None
    assert pickle.loads(pickle.dumps(StateFiles("far://host", default)))._copies._root == default._root
