from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import patience

SLEEPER = """
import sys, time
from firesteel.storage.process_directory import new_directory
(new_directory() / "file").touch()
print("made", flush=True)
if sys.argv[1:] == ["stays"]:
    time.sleep(100)
"""


def start(temporary: Path, *args: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, *args],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "made\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=patience(30))


def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """And nothing of one that lives, nor what is no directory of a process."""
    (tmp_path / "firesteel-local").mkdir()
    (tmp_path / "firesteel-other").touch()
    lives, killed = start(tmp_path, "stays"), start(tmp_path, "stays")
    try:
        mine = [path for path in tmp_path.glob("firesteel-*") if (path / ".firesteel-lock").exists()]
        assert len(mine) == 2
        killed.send_signal(signal.SIGKILL)
        end(killed)
        assert all(path.exists() for path in mine)
        end(start(tmp_path))
        left = [path for path in mine if path.exists()]
        assert len(left) == 1
        assert list(left[0].rglob("file")), "it lives"
        assert (tmp_path / "firesteel-local").exists()
    finally:
        lives.send_signal(signal.SIGKILL)
        end(lives)


def test_a_process_removes_its_own(tmp_path: Path) -> None:
    end(start(tmp_path))
    assert list(tmp_path.iterdir()) == []


KEEPS = """
from firesteel.storage.process_directory import keep, keep_no_longer, new_directory, process_directory
(new_directory() / "file").touch()
for name in ("log", "other"):
    (process_directory() / name).write_text(name)
    keep(process_directory() / name)
keep_no_longer(process_directory() / "other")
"""


def test_a_file_that_is_kept_stays_alone_and_for_later_processes_too(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KEEPS], env=os.environ | {"TMPDIR": str(tmp_path)}, check=True)
    (kept,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".firesteel-kept")
    assert (kept.name, kept.parent.parent) == ("log", tmp_path)
    with start(tmp_path) as later:
        later.wait()
    assert kept.read_text() == "log"
