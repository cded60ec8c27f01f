"""A dispatcher at work: with its engine and the REST server, from the moment it may act until it may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from firesteel.cluster.dispatcher import Dispatcher
from firesteel.cluster.engines import Engine
from firesteel.cluster.programs import ProgramStore
from firesteel.cluster.sql.sessions import SqlSessions
from firesteel.common.configuration import Configuration
from firesteel.common.masking import shown_settings
from firesteel.common.options import cluster as options
from firesteel.rest.archives.archivist import archivist_of
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from firesteel.storage.bounded_calls import bound_calls

__all__ = ["MakeEngine", "Reign"]

MakeEngine = Callable[[Configuration], Engine]


class Reign:
    """
    :param directory: what the cluster must not lose is there.
    :param confirm: raises LeadershipLostError once the dispatcher may not act any more; None: it always may.
    :raises ConfigurationError: no port is free.
    """

    def __init__(
        self,
        configuration: Configuration,
        settings: RestSettings,
        directory: Path,
        make_engine: MakeEngine,
        confirm: Callable[[], object] | None = None,
    ) -> None:
        bound_calls(configuration)
        values = configuration.to_dict()
        enforced = configuration.get(options.ENFORCE_SLOTS)
        self._engine = make_engine(configuration)
        self._dispatcher = Dispatcher(
            directory,
            self._engine,
            values,
            shown_settings(values),
            slot_timeout_ms=configuration.get(options.SLOT_TIMEOUT) if enforced else None,
            keep=settings.keep_jobs,
            keep_ms=settings.keep_jobs_ms,
            confirm=confirm,
            archivist=archivist_of(configuration),
        )
        self._programs = ProgramStore(directory, self._dispatcher.submit, values)
        self._sql = SqlSessions(directory, values, self._dispatcher.cancel)
        self._server = RestServer(self._dispatcher, settings, self._dispatcher, self._programs, sql=self._sql)
        self._sql.answer_by(self._server.answer)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def is_over(self) -> bool:
        """Whether a client has ended the cluster."""
        return self._dispatcher.stopped.is_set()

    def begin(self) -> None:
        """Go on with the jobs that were left, and answer clients."""
        self._engine.start()
        self._dispatcher.recover()
        self._server.start()
        self._server.call(_soon(self._dispatcher.begin))

    def end(self) -> None:
        """End the processes of all jobs, which go on in the next reign, and all else."""
        if self._server.is_serving:
            self._server.call(self._programs.end())
            self._server.call(self._sql.end())
            self._server.call(self._dispatcher.end())
        self._server.stop(wait_for_clients=self.is_over)
        self._engine.stop()


async def _soon(do: Callable[[], Any]) -> None:
    do()
