"""The directory of a job on one host: its local stores and its copies of state files are in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from firesteel.storage.held_directories import share

_OF_A_JOB: Final = re.compile("[0-9a-f]{32}")


def job_directory(local_dir: str, job_id: str) -> Path:
    return Path(local_dir, job_id)


def hold(directory: Path) -> None:
    """Hold the directory of a job for the lifetime of this process, and remove those next to it that no
    process holds any more: their jobs are over."""
    share(directory, siblings=_OF_A_JOB)
