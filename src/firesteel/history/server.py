"""The history server: it looks at the archives now and then, and answers clients."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path
from typing import Final, Self

from firesteel.common.clock import Clock, SystemClock
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.logs import logger
from firesteel.common.masking import shown_settings
from firesteel.common.options import history as options
from firesteel.history.archives import Archives
from firesteel.history.routes import history_places
from firesteel.history.settings import history_settings, web_settings
from firesteel.rest.archives.ended_jobs import EndedJobs
from firesteel.runtime.error_report import summary_of
from firesteel.storage.bounded_calls import bound_calls

log = logger(__name__)

_STOP_S: Final = 10.0


class HistoryServer:
    """Serves until it is stopped.

    :raises ConfigurationError: the settings contradict each other, no port is free, or a package is missing.
    """

    def __init__(self, configuration: Configuration, clock: Clock | None = None) -> None:
        for module in ("starlette", "uvicorn", "httptools"):
            extra(module, "The history server", "server")
        from firesteel.rest.server import RestServer

        bound_calls(configuration)
        self._settings = history_settings(configuration)
        web = web_settings(configuration)
        self._clock = clock or SystemClock()
        self._place = _place(self._settings.temporary)
        self._archives = Archives(self._settings, self._place)
        shown = shown_settings(configuration.to_dict())
        jobs = EndedJobs(self._archives.views, self._archives.accumulators, shown)
        served = history_places(self._archives, self._settings)
        try:
            self._server = RestServer(jobs, web, served=served)
        except BaseException:
            shutil.rmtree(self._place, ignore_errors=True)
            raise
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, name="firesteel-archives", daemon=True)

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> Self:
        """Returns when it answers, with the archives that are there."""
        self._archives.refresh(self._clock.now_ms())
        self._server.start()
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopping.set()
        self._server.stop()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)
        shutil.rmtree(self._place, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _look(self) -> None:
        while not self._stopping.wait(self._settings.refresh_ms / 1000):
            try:
                self._archives.refresh(self._clock.now_ms())
            except Exception as e:  # a full disk, say; the next time perhaps not
                log.warning("the archives are not looked at: %s", summary_of(e), exc_info=e)


def _place(directory: str | None) -> Path:
    """A directory of its own for copies of the archives."""
    try:
        return Path(tempfile.mkdtemp(prefix="firesteel-history-", dir=directory))
    except OSError as e:
        raise ConfigurationError(
            "The history server cannot write to its directory for temporary files",
            detail=str(e),
            hint=f"set {options.TEMPORARY.key} to a directory that is there",
        ) from e
