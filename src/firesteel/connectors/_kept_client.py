"""A client of a server that a worker process keeps from one epoch to the next."""

from __future__ import annotations

import weakref
from typing import Any

__all__ = ["KeptClient"]


class KeptClient:
    """Holds one client, which is closed when it is dropped or replaced, and with its holder at the latest.
    It is not pickled: a copy holds none.

    :ivar client: None: none is held. It has a method ``close``.
    """

    def __init__(self) -> None:
        self.client: Any = None
        self._close: weakref.finalize[..., KeptClient] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptClient, ()

    def keep(self, client: Any) -> Any:
        """Hold *client* instead of the one before, and return it."""
        self.drop()
        self.client = client
        # Not __del__: operators are parts of cycles, and when those are collected a client may be finalized
        # before its holder; it then warns that nobody has closed it.
        self._close = weakref.finalize(self, client.close)
        return client

    def drop(self) -> None:
        """Close the client, if there is one."""
        close, self._close, self.client = self._close, None, None
        if close is not None:
            close()
