"""The server: uvicorn in a thread of its own, with an event loop of its own."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from typing import Any, Final, Self, TypeVar

import uvicorn

from firesteel.common.errors import ConfigurationError, StorageError
from firesteel.common.logs import logger
from firesteel.rest.app import make_app, make_context
from firesteel.rest.cluster import Cluster, Programs, Submissions
from firesteel.rest.connections import guarded
from firesteel.rest.credentials import credentials
from firesteel.rest.routes import Route
from firesteel.rest.settings import RestSettings

log = logger(__name__)

T = TypeVar("T")
_CONNECTIONS: Final = 500
_KEEP_ALIVE_S: Final = 15  # pages ask every three seconds
_START_S: Final = 30.0
_STOP_S: Final = 10.0
_UNSEEN_S: Final = 15.0  # how long clients may take to ask what came of a command that ended the program


class AppServer:
    """Serves an application of ASGI until it is stopped.

    :raises ConfigurationError: no port is free, or a file of the settings cannot be used.
    """

    def __init__(self, app: Any, settings: RestSettings) -> None:
        self._settings = settings
        self._socket = bind(settings)
        try:
            self._server = uvicorn.Server(_config(app, settings))
        except (OSError, ssl.SSLError) as e:
            self._socket.close()
            raise ConfigurationError("The certificate of the REST API cannot be used", detail=str(e)) from e
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="firesteel-rest", daemon=True)

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        host = self._settings.address or self._settings.host
        host = f"[{host}]" if ":" in host else host
        return f"{'http' if self._settings.tls is None else 'https'}://{host}:{self.port}"

    @property
    def is_serving(self) -> bool:
        return self._loop is not None and self._thread.is_alive()

    def call(self, do: Coroutine[Any, Any, T]) -> T:
        """Do something in the loop of the server, which must have started; what came of it."""
        assert self._loop is not None, "start() comes first"
        return asyncio.run_coroutine_threadsafe(do, self._loop).result()

    def start(self) -> Self:
        """Returns when it answers."""
        self._thread.start()
        if not self._ready.wait(_START_S) or not self._server.started:
            raise StorageError("The REST API did not start", detail="the log says why")
        log.info("the REST API is served url=%s auth=%s", self.url, self._settings.auth)
        return self

    def stop(self) -> None:
        """Close the port and all connections."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_STOP_S)
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as e:  # nobody else would say so
            log.error("the REST API has ended: %s", e, exc_info=e)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        serving = asyncio.ensure_future(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.01)
        self._ready.set()
        await serving


class RestServer(AppServer):
    """Serves a cluster until it is stopped.

    :param served: the paths with their routes; None: all that a cluster has.
    :raises ConfigurationError: no port is free, or a file of the settings cannot be used.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: RestSettings,
        submissions: Submissions | None = None,
        programs: Programs | None = None,
        served: Iterable[tuple[str, Route]] | None = None,
    ) -> None:
        self._context = make_context(cluster, settings, submissions, programs)
        super().__init__(make_app(self._context, credentials(settings), served), settings)

    def stop(self, *, wait_for_clients: bool = False) -> None:
        """Close the port and all connections.

        :param wait_for_clients: first let clients ask what came of the commands that they gave.
        """
        if wait_for_clients and self._loop is not None and self._thread.is_alive():
            seen = asyncio.run_coroutine_threadsafe(self._context.operations.all_seen(_UNSEEN_S), self._loop)
            with suppress(FutureTimeoutError):
                seen.result(_UNSEEN_S + 1)
        super().stop()


def _config(app: Any, settings: RestSettings) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=guarded(settings.request_timeout_s),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=2,
    )
    config.load()
    if settings.tls is not None:
        config.ssl = tls_context(settings)
    return config


def tls_context(settings: RestSettings) -> ssl.SSLContext:
    tls = settings.tls
    assert tls is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without a password OpenSSL would ask for one on the terminal.
    context.load_cert_chain(tls.certificate, password=lambda: tls.key_password or "")
    if tls.clients is not None:
        context.load_verify_locations(tls.clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def bind(settings: RestSettings) -> socket.socket:
    """The first port that is free.

    :raises ConfigurationError: none is, or the address is not one of this machine.
    """
    host = settings.host.strip("[]")
    try:
        family, kind, _, _, place = socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as e:
        raise ConfigurationError(f"The REST API cannot be bound to {host}", detail=str(e)) from e
    for port in settings.ports:
        found = socket.socket(family, kind)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((place[0], port, *place[2:]))
            found.listen(128)
        except OSError as e:
            found.close()
            if e.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise ConfigurationError(f"The REST API cannot be bound to {host}", detail=str(e)) from e
            continue
        found.setblocking(False)
        return found
    first, last = settings.ports[0], settings.ports[-1]
    raise ConfigurationError(
        f"No port for the REST API: {first if first == last else f'{first} to {last}'} of {host} "
        f"{'is' if first == last else 'are'} taken, or may not be used.",
        hint="set rest.port to another one, to 0 for any, or rest.bind-port to a range such as 8081-8099",
    )
