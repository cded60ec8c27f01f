"""A dispatcher that stands by: it answers 503 and says who leads, until it leads itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from firesteel.cluster.client import LEADER_HEADER
from firesteel.cluster.reign import MakeEngine, Reign
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.logs import logger
from firesteel.common.options import high_availability as ha
from firesteel.jobmanager.leadership import Candidate, Election, election_of
from firesteel.rest.server import AppServer
from firesteel.rest.settings import RestSettings

__all__ = ["Standby", "shared_directory"]

log = logger(__name__)

_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_RETRY_S: Final = "1"


def shared_directory(configuration: Configuration) -> Path | None:
    """Return what all dispatchers of a cluster share; None: there is one dispatcher.

    :raises ConfigurationError: it is no directory that can be mounted.
    """
    if configuration.get(ha.TYPE) == "NONE":
        return None
    place = configuration.get(ha.STORAGE_DIR) or ""
    if "://" in place.removeprefix("file://"):
        raise ConfigurationError(
            "The jobs of a cluster are kept in a directory that all dispatchers mount.",
            detail=f"{ha.STORAGE_DIR.key} is {place}",
            hint="name a directory of a shared file system; checkpoints may be in an object store",
        )
    return Path(place.removeprefix("file://")) / configuration.get(ha.CLUSTER_ID).strip("/")


class Standby:
    """A dispatcher that takes part in the election, and reigns while it leads."""

    def __init__(
        self, configuration: Configuration, settings: RestSettings, directory: Path, make_engine: MakeEngine
    ) -> None:
        self._configuration = configuration
        self._directory = directory
        self._make_engine = make_engine
        self._election: Election | None = None
        self._reign: Reign | None = None
        self.failure: BaseException | None = None
        self._server: AppServer = AppServer(_app(self._leader), settings)
        # From here on the dispatcher is at this port, whether it leads or not.
        self._settings = replace(settings, ports=(self._server.port,))

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def is_over(self) -> bool:
        """Whether a client has ended the cluster, or the dispatcher cannot lead."""
        return self.failure is not None or (self._reign is not None and self._reign.is_over)

    def begin(self) -> None:
        self._server.start()
        self._election = election_of(self._configuration, self.url, self._granted, self._revoked)
        assert self._election is not None, "there is high availability"
        self._election.start()

    def end(self) -> None:
        if self._election is not None:
            self._election.stop()
        self._server.stop()

    @property
    def _candidate(self) -> Candidate:
        assert self._election is not None
        return self._election.candidate

    def _leader(self) -> str | None:
        lease = None if self._election is None else self._candidate.leader
        return None if lease is None or lease.address == self.url else lease.address

    def _granted(self, token: int) -> None:
        log.info("leadership granted term=%s", token)
        self._server.stop()
        try:
            self._reign = Reign(
                self._configuration, self._settings, self._directory, self._make_engine, self._confirm
            )
            self._reign.begin()
        except BaseException as error:  # it ends the process: another dispatcher may do better
            log.error("the dispatcher cannot lead: %s", error, exc_info=error)
            self.failure = error

    def _revoked(self) -> None:
        log.warning("leadership revoked")
        reign, self._reign = self._reign, None
        if reign is not None:
            reign.end()
        self._server = AppServer(_app(self._leader), self._settings)
        self._server.start()

    def _confirm(self) -> object:
        return self._candidate.confirm()


def _app(leader: Callable[[], str | None]) -> Any:
    async def answer(request: Request) -> Response:
        place = leader()
        headers = {"retry-after": _RETRY_S}
        if place is None:
            said = "This dispatcher stands by, and no dispatcher leads the cluster yet. Try again."
        else:
            if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
                return RedirectResponse(f"{place}{request.url.path}", status_code=307)
            said = f"This dispatcher stands by. The leader of the cluster is at {place}"
            headers[LEADER_HEADER] = place
        body = msgspec.json.encode({"errors": [said]})
        return Response(body, 503, headers, media_type="application/json")

    return Starlette(routes=[Route("/{path:path}", answer, methods=_METHODS)])
