"""The API of one program, in its process: ``firesteel run --rest``, or ``rest.port`` in a configuration."""

from __future__ import annotations

import atexit
import threading
from typing import Any, NamedTuple

from firesteel.common.configuration import Configuration
from firesteel.common.extras import extra
from firesteel.common.logs import logger
from firesteel.common.masking import shown_settings
from firesteel.jobmanager.executor import Executor
from firesteel.rest.local import LocalCluster
from firesteel.rest.settings import RestSettings, rest_settings

log = logger(__name__)

_lock = threading.Lock()


class _Served(NamedTuple):
    settings: RestSettings
    cluster: LocalCluster
    server: Any  # a RestServer, whose packages are an extra


_served: dict[Executor, _Served] = {}


def serve(executor: Executor, configuration: Configuration) -> str:
    """Serve the jobs of an executor until the program ends, or the executor is closed; where.

    :raises ConfigurationError: the settings contradict each other, no port is free, or a package is missing.
    """
    with _lock:
        settings = rest_settings(configuration)
        found = _served.get(executor)
        if found is None:
            found = _served[executor] = _start(executor, configuration, settings)
            executor.on_close.append(lambda: stop(executor))
            atexit.register(stop, executor, wait_for_clients=True)
        elif found.settings != settings:
            log.warning("other settings of the REST API have no effect: it is served at %s", found.server.url)
        return str(found.server.url)


def stop(executor: Executor, *, wait_for_clients: bool = False) -> None:
    """Serve its jobs no longer. Nothing happens if they are not served."""
    with _lock:
        found = _served.pop(executor, None)
    if found is not None:
        found.server.stop(wait_for_clients=wait_for_clients)
        found.cluster.close()


def _start(executor: Executor, configuration: Configuration, settings: RestSettings) -> _Served:
    for module in ("starlette", "uvicorn", "httptools"):
        extra(module, "The REST API", "server")
    from firesteel.rest.server import RestServer

    shown = shown_settings(configuration.to_dict())
    cluster = LocalCluster(executor, shown, keep=settings.keep_jobs, keep_ms=settings.keep_jobs_ms)
    try:
        return _Served(settings, cluster, RestServer(cluster, settings).start())
    except BaseException:
        cluster.close()
        raise
