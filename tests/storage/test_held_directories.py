from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firesteel.storage.held_directories import (
    KEPT_DAYS,
    HeldDirectory,
    held_directory,
    is_held,
    remove_abandoned,
    share,
)
from tests.waiting import patience

DAY_S = 86_400
HOLDER = """
import re, sys, time
from pathlib import Path
from firesteel.storage.held_directories import HeldDirectory, share
how, path = sys.argv[1], Path(sys.argv[2])
held = HeldDirectory(path, "held-") if how == "alone" else share(path, re.compile("[0-9]+"))
print(getattr(held, "path", path), flush=True)
time.sleep(100)
"""


def hold(how: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, how, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def said_by(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=patience(30))


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY_S
    os.utime(path, (then, then))


def test_what_is_held_stays_and_what_was_killed_goes(tmp_path: Path) -> None:
    process = hold("alone", tmp_path)
    directory = said_by(process)
    (directory / "below").mkdir()
    (directory / "below" / "file").touch()
    try:
        remove_abandoned(tmp_path, "held-")
        assert is_held(directory)
        assert (directory / "below" / "file").exists()
    finally:
        kill(process)
    assert not is_held(directory)
    remove_abandoned(tmp_path, "held-")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_goes_at_the_end_of_its_block(tmp_path: Path) -> None:
    with held_directory(tmp_path, "held-") as directory:
        (directory / "file").touch()
        assert directory.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_kept_files_stay_for_some_days(tmp_path: Path) -> None:
    held = HeldDirectory(tmp_path, "held-")
    (held.path / "log").write_text("said")
    (held.path / "other").touch()
    held.remove(frozenset([held.path / "log"]))
    assert not is_held(held.path)
    remove_abandoned(tmp_path, "held-")
    assert (held.path / "log").read_text() == "said"
    assert not (held.path / "other").exists()
    (marker,) = (path for path in held.path.iterdir() if path.name != "log")
    age(marker, KEPT_DAYS - 0.5)
    remove_abandoned(tmp_path, "held-")
    assert (held.path / "log").exists()
    age(marker, KEPT_DAYS + 0.5)
    remove_abandoned(tmp_path, "held-")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_somebody_writes_into_while_it_is_removed_is_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM may end after its Python process."""
    held = HeldDirectory(tmp_path, "held-")
    listed = os.listdir

    def write_and_list(path: Path) -> list[str]:
        (held.path / "late").touch()
        return listed(path)

    monkeypatch.setattr(os, "listdir", write_and_list)
    held.remove()
    monkeypatch.undo()
    assert held.path.exists()
    remove_abandoned(tmp_path, "held-")
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_never_named_goes_after_a_while(tmp_path: Path) -> None:
    for name in (".held-new", ".held-old"):
        (tmp_path / name).mkdir()
    age(tmp_path / ".held-old", 0.1)
    remove_abandoned(tmp_path, "held-")
    assert [path.name for path in tmp_path.iterdir()] == [".held-new"]


def test_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    (tmp_path / "held-by-others" / "file").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "held-link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / ".firesteel-lock").touch()
    remove_abandoned(tmp_path, "held-")
    assert {path.name for path in tmp_path.iterdir()} == {"held-by-others", "elsewhere", "held-link"}


def test_a_shared_directory_goes_when_nobody_shares_it_any_more(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()  # somebody else's: nobody has ever shared it
    one, other = hold("shared", tmp_path / "1"), hold("shared", tmp_path / "1")
    try:
        said_by(one), said_by(other)
        kill(one)
        share(tmp_path / "2", re.compile("[0-9]+"))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "7"]
    finally:
        kill(one)
        kill(other)
    share(tmp_path / "3", re.compile("[0-9]+"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3", "7"]
