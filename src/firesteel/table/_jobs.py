"""The jobs of this process, for SHOW JOBS."""

from __future__ import annotations

import weakref
from typing import Any

__all__ = ["known_jobs", "remember"]

_clients: list[weakref.ref[Any]] = []


def remember(client: Any) -> Any:
    """Note the client of a job that a statement has started."""
    _clients.append(weakref.ref(client))
    return client


def known_jobs() -> list[tuple[Any, ...]]:
    """Id, name, status and start of each."""
    rows = []
    for reference in _clients:
        client = reference()
        if client is None:
            continue
        job = getattr(client, "job", None)
        name = getattr(job, "name", None) or getattr(client, "job_name", "")
        rows.append((str(client.get_job_id()), str(name), str(client.get_job_status().result().name), None))
    return rows
