"""What a dispatcher must not lose of its jobs: it is on disk before anybody is told of it.

    jobs/ID/job        what was handed in; written before the answer
    jobs/ID/wanted     which parallelism it is to have, if somebody has said so; written before the answer
    jobs/ID/cancelled  the job is to be cancelled; written before the answer
    jobs/ID/end        how it has ended; written by the job's own process, before it says so
    archive/ID         an ended job; written before jobs/ID is removed

Each file is written in one atomic step. A dispatcher that finds both ``archive/ID`` and ``jobs/ID`` removes
the latter; one that finds ``jobs/ID/end`` does what was left to do.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from firesteel.common.errors import StateCorruptionError
from firesteel.common.logs import logger
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.rescale_view import Bounds
from firesteel.rest.messages.submission import Submission
from firesteel.storage.durable import sync_names
from firesteel.storage.filesystems import PRIVATE
from firesteel.storage.private_files import make_directories

log = logger(__name__)

_ID: Final = re.compile("[0-9a-f]{32}")
JOB: Final = "job"
WANTED: Final = "wanted"
CANCELLED: Final = "cancelled"
END: Final = "end"
T = TypeVar("T")


class JobRecord(msgspec.Struct, frozen=True):
    """A job that was handed in. ``number``: rises with each."""

    submission: Submission
    number: int
    submitted_ms: int

    @property
    def job_id(self) -> str:
        return self.submission.job_id


class EndedJob(msgspec.Struct, frozen=True):
    """:param view: the last one. :param accumulators: packed as in checkpoints.
    :param shown: their values as text.
    """

    view: JobView
    accumulators: bytes = b""
    shown: dict[str, str] = {}
    number: int = 0


class JobStore:
    """Belongs to one dispatcher; a job's process writes the end of its job.

    :param confirm: called before each write of the dispatcher's; raises when it is another one's.
    """

    def __init__(self, directory: Path, confirm: Callable[[], object] | None = None) -> None:
        self.directory = directory
        self._confirm = confirm or (lambda: None)
        self._jobs = directory / "jobs"
        self._archive = directory / "archive"
        for place in (self._jobs, self._archive):
            make_directories(str(place))

    # ---- jobs that have not ended

    def place(self, job_id: str) -> Path:
        """The directory of a job."""
        return self._jobs / job_id

    def add(self, record: JobRecord) -> None:
        """From here on the job is not lost."""
        self._confirm()
        place = self.place(record.job_id)
        make_directories(str(place))
        PRIVATE.write(str(place / JOB), msgspec.msgpack.encode(record))
        sync_names((str(place),), str(self._jobs))

    def require(self, job_id: str, wanted: Mapping[str, Bounds]) -> None:
        """Which parallelism the vertices of a job are to have, now and whenever it is started again."""
        self._confirm()
        PRIVATE.write(str(self.place(job_id) / WANTED), msgspec.msgpack.encode(wanted))

    def wanted(self, job_id: str) -> dict[str, Bounds]:
        """Empty: what the program says."""
        return _read(self.place(job_id) / WANTED, dict[str, Bounds]) or {}

    def cancel(self, job_id: str) -> None:
        self._confirm()
        PRIVATE.write(str(self.place(job_id) / CANCELLED), b"")

    def is_cancelled(self, job_id: str) -> bool:
        return (self.place(job_id) / CANCELLED).exists()

    def end_of(self, job_id: str) -> EndedJob | None:
        """How its process says that it has ended; None: it has not said so."""
        return _read(self.place(job_id) / END, EndedJob)

    def unfinished(self) -> list[JobRecord]:
        """The jobs to go on with, in the order in which they came. What is left of others is removed."""
        found = []
        for place in sorted(self._jobs.iterdir()):
            record = None if self.is_archived(place.name) else self._record(place)
            if record is None:
                shutil.rmtree(place, ignore_errors=True)
            else:
                found.append(record)
        return sorted(found, key=lambda record: record.number)

    def others(self, known: Container[str]) -> list[JobRecord]:
        """The jobs that have not ended and are not *known*; nothing is removed."""
        places = [p for p in self._jobs.iterdir() if p.name not in known and not self.is_archived(p.name)]
        found = [_read(place / JOB, JobRecord) for place in places]
        return sorted((record for record in found if record is not None), key=lambda r: r.number)

    def _record(self, place: Path) -> JobRecord | None:
        """None: its client was told nothing of the job."""
        try:
            return _read(place / JOB, JobRecord)
        except StateCorruptionError as error:
            log.error("a job is lost: %s", error)
            damaged = self.directory / "damaged"
            make_directories(str(damaged))
            with suppress(OSError):
                os.replace(place / JOB, damaged / place.name)
            return None

    # ---- jobs that have ended

    def archive(self, ended: EndedJob) -> None:
        """From here on the job has ended."""
        self._confirm()
        PRIVATE.write(str(self._archive / ended.view.job_id), msgspec.msgpack.encode(ended))
        shutil.rmtree(self.place(ended.view.job_id), ignore_errors=True)

    def is_archived(self, job_id: str) -> bool:
        return (self._archive / job_id).exists()

    def archived(self, job_id: str) -> EndedJob | None:
        if _ID.fullmatch(job_id) is None:
            return None
        return _read(self._archive / job_id, EndedJob)

    def archived_ids(self, since_ms: int = 0) -> Iterator[str]:
        """Those that ended after ``since_ms``."""
        for path in self._archive.iterdir():
            if _ID.fullmatch(path.name) and path.stat().st_mtime_ns // 1_000_000 >= since_ms:
                yield path.name


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StateCorruptionError(f"The file of a job {path} is damaged: {error}.") from error
