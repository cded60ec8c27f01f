"""A connection that is kept, and what is done with it once more where that may succeed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from firesteel.connectors._kept_client import KeptClient
from firesteel.connectors.jdbc.databases import Database

__all__ = ["RETRY_S", "connected", "retried"]

RETRY_S: Final = 0.2  # before the first retry; before each further one twice as long
T = TypeVar("T")


def connected(kept: KeptClient, database: Database) -> Any:
    """The connection that is kept if it is alive, else a new one, which is kept."""
    connection = kept.client
    if connection is None or not database.is_alive(connection):
        connection = kept.keep(database.connect())
    return connection


def retried(database: Database, retries: int, do: Callable[[], T]) -> T:
    """Return what *do* does; call it again where a new connection may help. It drops the old one itself."""
    retry = 0
    while True:
        try:
            return do()
        except Exception as error:
            if retry == retries or not database.is_transient(error):
                raise
            time.sleep(RETRY_S * 2**retry)
            retry += 1
