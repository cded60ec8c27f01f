"""The API of one program, in its process: ``firesteel run --rest``, or ``rest.port`` in a configuration."""

from __future__ import annotations

import atexit
import threading

from firesteel.common.configuration import Configuration
from firesteel.common.extras import extra
from firesteel.common.masking import masked_value
from firesteel.jobmanager.executor import Executor
from firesteel.rest.local import LocalCluster
from firesteel.rest.settings import rest_settings

_lock = threading.Lock()
_served: dict[int, str] = {}  # where the jobs of each executor are served


def serve(executor: Executor, configuration: Configuration) -> str:
    """Serve the jobs of an executor until the program ends; where. Once it is served nothing changes.

    :raises ConfigurationError: the settings contradict each other, no port is free, or a package is missing.
    """
    with _lock:
        if id(executor) in _served:
            return _served[id(executor)]
        settings = rest_settings(configuration)
        extra("starlette", "The REST API", "server")
        extra("httptools", "The REST API", "server")
        server_module = extra("firesteel.rest.server", "The REST API", "server", "uvicorn")
        values = configuration.to_dict()
        shown = tuple((key, str(masked_value(key, values[key]))) for key in sorted(values))
        cluster = LocalCluster(executor, shown, keep=settings.keep_jobs, keep_ms=settings.keep_jobs_ms)
        server = server_module.RestServer(cluster, settings)
        server.start()
        atexit.register(server.stop, wait_for_clients=True)
        _served[id(executor)] = server.url
        return _served[id(executor)]
