"""The API of one program, in its process: ``firesteel run --rest``, or ``rest.port`` in a configuration."""

from __future__ import annotations

import atexit
import threading
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from firesteel.common.configuration import Configuration
from firesteel.common.extras import extra
from firesteel.common.masking import masked_value
from firesteel.jobmanager.executor import Executor
from firesteel.rest.local import LocalCluster
from firesteel.rest.settings import rest_settings

_lock = threading.Lock()


class _Served(NamedTuple):
    cluster: LocalCluster
    server: Any  # a RestServer, whose packages are an extra


_served: WeakKeyDictionary[Executor, _Served] = WeakKeyDictionary()


def serve(executor: Executor, configuration: Configuration) -> str:
    """Serve the jobs of an executor until the program ends; where. Once it is served nothing changes.

    :raises ConfigurationError: the settings contradict each other, no port is free, or a package is missing.
    """
    with _lock:
        if executor not in _served:
            _served[executor] = _start(executor, configuration)
            atexit.register(_stop_at_exit, ref(executor))
        return str(_served[executor].server.url)


def stop(executor: Executor, *, wait_for_clients: bool = False) -> None:
    """Serve its jobs no longer. Nothing happens if they are not served."""
    with _lock:
        found = _served.pop(executor, None)
    if found is not None:
        found.server.stop(wait_for_clients=wait_for_clients)
        found.cluster.close()


def _stop_at_exit(executor: ref[Executor]) -> None:
    if (found := executor()) is not None:
        stop(found, wait_for_clients=True)


def _start(executor: Executor, configuration: Configuration) -> _Served:
    settings = rest_settings(configuration)
    for module in ("starlette", "uvicorn", "httptools"):
        extra(module, "The REST API", "server")
    from firesteel.rest.server import RestServer

    values = configuration.to_dict()
    shown = tuple((key, str(masked_value(key, values[key]))) for key in sorted(values))
    cluster = LocalCluster(executor, shown, keep=settings.keep_jobs, keep_ms=settings.keep_jobs_ms)
    try:
        return _Served(cluster, RestServer(cluster, settings).start())
    except BaseException:
        cluster.close()
        raise
