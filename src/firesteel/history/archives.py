"""The archives of several directories, and how they change."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from firesteel.common.errors import FiresteelError
from firesteel.common.logs import logger
from firesteel.history.flink_view import flink_view
from firesteel.history.settings import HistorySettings
from firesteel.jobmanager.job_view import JobView
from firesteel.rest.archives.archive import Archive
from firesteel.runtime.error_report import summary_of
from firesteel.storage.filesystems import FileInfo, Storage, join, resolve
from firesteel.storage.private_files import private_opener

log = logger(__name__)

_ID: Final = re.compile("[0-9a-f]{32}")
_OPEN: Final = 16  # archives whose answers are in memory


@dataclass(frozen=True, slots=True)
class _Known:
    """An archive that was read. ``modified_ms``: of its file then."""

    directory: str
    modified_ms: int


class Archives:
    """``refresh`` belongs to one thread; the rest may be read by another one, which copies ``views`` and
    ``accumulators`` in single steps.

    :param place: a directory of its own, for copies of the archives.
    """

    def __init__(self, settings: HistorySettings, place: Path) -> None:
        self.views: dict[str, JobView] = {}
        self.accumulators: dict[str, dict[str, str]] = {}
        self._settings = settings
        self._place = place
        self._known: dict[str, _Known] = {}
        self._open: OrderedDict[str, Archive] = OrderedDict()
        self._lock = threading.Lock()  # of what is open, and of the copies
        self._damaged: dict[str, int] = {}  # when the files were modified that cannot be read

    def answer(self, job_id: str, path: str) -> str | None:
        """What the archive of a job says at a path; None: nothing."""
        if job_id not in self.views:
            return None
        with self._lock:
            archive = self._open.pop(job_id, None)
            if archive is None:
                try:
                    archive = Archive.decode((self._place / job_id).read_bytes())
                except FileNotFoundError:  # it is forgotten at this moment
                    return None
            self._open[job_id] = archive
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
        return archive.answers.get(path)

    # ---- how they change

    def refresh(self, now_ms: int) -> None:
        """Look for new archives, and for those that are gone or too old."""
        for directory in self._settings.directories:
            try:
                self._refresh(directory, now_ms)
            except Exception as e:  # a file system that is not there now
                log.warning("archives cannot be listed directory=%s: %s", directory, summary_of(e))

    def _refresh(self, directory: str, now_ms: int) -> None:
        storage, root = resolve(directory)
        seen = set()
        for info in self._retained(storage, root, now_ms):
            seen.add(info.name)
            self._take(storage, directory, info)
        for info in _below_applications(storage, root):
            seen.add(info.name)
            self._take(storage, directory, info)
        if self._settings.forgets:
            gone = [j for j, known in self._known.items() if known.directory == directory and j not in seen]
            for job_id in gone:
                self._forget(job_id)

    def _retained(self, storage: Storage, root: str, now_ms: int) -> Iterator[FileInfo]:
        """The archives right in a directory, without those that are too many or too old: they are deleted."""
        found = [info for info in storage.list_dir(root) if not info.is_dir and _ID.fullmatch(info.name)]
        found.sort(key=lambda info: info.modified_ms, reverse=True)
        most, age_ms = self._settings.retained, self._settings.retained_ms
        for position, info in enumerate(found):
            too_many = most is not None and position >= most
            if too_many or (age_ms is not None and info.modified_ms < now_ms - age_ms):
                log.info("an archive is deleted path=%s", info.path)
                storage.delete(info.path)
                self._forget(info.name)
            else:
                yield info

    def _take(self, storage: Storage, directory: str, info: FileInfo) -> None:
        known = self._known.get(info.name)
        if known is not None and known.modified_ms == info.modified_ms:
            return
        if self._damaged.get(info.path) == info.modified_ms:
            return
        try:
            with storage.open_input(info.path) as file:
                data = file.read()
            archive = Archive.decode(data)
            job = archive.job() or (flink_view(archive, info.name), {})
        except (FiresteelError, OSError) as e:
            log.warning("an archive cannot be read path=%s: %s", info.path, summary_of(e))
            self._damaged[info.path] = info.modified_ms
            return
        with self._lock:
            with open(self._place / info.name, "wb", opener=private_opener) as copy:
                copy.write(data)
            self._open.pop(info.name, None)
        self.accumulators[info.name] = job[1]
        self.views[info.name] = job[0]
        self._known[info.name] = _Known(directory, info.modified_ms)
        log.info("job is shown job=%s path=%s", info.name, info.path)

    def _forget(self, job_id: str) -> None:
        if self._known.pop(job_id, None) is None:
            return
        self.views.pop(job_id, None)
        self.accumulators.pop(job_id, None)
        with self._lock:
            self._open.pop(job_id, None)
            (self._place / job_id).unlink(missing_ok=True)


def _below_applications(storage: Storage, root: str) -> Iterator[FileInfo]:
    """The archives of jobs that Flink 2.3 writes: ``CLUSTER/applications/APPLICATION/jobs/JOB``."""
    for cluster in storage.list_dir(root):
        if not cluster.is_dir or not _ID.fullmatch(cluster.name):
            continue
        for application in storage.list_dir(join(cluster.path, "applications")):
            if application.is_dir:
                jobs = storage.list_dir(join(application.path, "jobs"))
                yield from (info for info in jobs if not info.is_dir and _ID.fullmatch(info.name))
