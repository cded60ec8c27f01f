"""Writes the archives of jobs that end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from firesteel.common.clock import Clock, SystemClock
from firesteel.common.configuration import Configuration
from firesteel.common.logs import logger
from firesteel.common.masking import shown_settings
from firesteel.common.options import history as options
from firesteel.jobmanager.job_view import JobView
from firesteel.metrics.machines import Machines
from firesteel.rest.archives.answers import archive_of
from firesteel.rest.cluster import Settings
from firesteel.runtime.error_report import summary_of
from firesteel.storage.filesystems import join, resolve

log = logger(__name__)

#: What an accumulator is in an archive whose value the view of the job does not have.
_NOT_KEPT: Final = "(large, or of a class of the program: its value is not archived)"


class Archivist:
    """Writes into one directory, where other programs of the site read: the umask says who may.

    :param settings: of the cluster, without secrets.
    """

    def __init__(self, directory: str, settings: Settings = (), clock: Clock | None = None) -> None:
        self._directory = directory
        self._settings = settings
        self._clock = clock or SystemClock()

    def archive(self, view: JobView, accumulators: Mapping[str, str], machines: Machines) -> None:
        """Write the archive of a job that has ended, in one step, in the place of one that is there.

        A job that cannot be archived has ended all the same, and the log says why. Blocks; no event loop may
        run in the calling thread.
        """
        self._write(view, accumulators, machines, again=True)

    def archive_if_missing(self, view: JobView, accumulators: Mapping[str, str]) -> None:
        """Likewise, unless there is an archive. The machines that ran the job are not known any more."""
        self._write(view, accumulators, Machines(), again=False)

    def _write(
        self, view: JobView, accumulators: Mapping[str, str], machines: Machines, *, again: bool
    ) -> None:
        try:
            storage, path = resolve(join(self._directory, view.job_id))
            if not again and storage.info(path) is not None:
                return
            now_ms = self._clock.now_ms()
            made = asyncio.run(archive_of(view, accumulators, self._settings, machines, now_ms))
            storage.write(path, made.encode())
        except Exception as e:  # of a file system that is not there, most likely
            log.error(
                "job is not archived job=%s directory=%s: %s", view.job_id, self._directory, summary_of(e)
            )
            return
        log.info("job is archived job=%s directory=%s", view.job_id, self._directory)


def archivist_of(configuration: Configuration) -> Archivist | None:
    """None: nothing is to be archived."""
    directory = configuration.get(options.ARCHIVE_DIR)
    if not directory:
        return None
    shown = shown_settings(configuration.to_dict())
    return Archivist(directory, shown)


def archive_job(view: JobView, configuration: Configuration, machines: Machines) -> None:
    """Archive a job of this process if the configuration wants it."""
    archivist = archivist_of(configuration)
    if archivist is not None:
        shown = {found.name: found.value or _NOT_KEPT for found in view.accumulators}
        archivist.archive(view, shown, machines)
