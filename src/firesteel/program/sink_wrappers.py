"""What a sink may ask to be put before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class StreamTransformer(ABC):
    """Makes one stream of another (PyFlink: ``StreamTransformer``)."""

    @abstractmethod
    def apply(self, ds: Any) -> Any: ...


class SupportsPreprocessing(ABC):
    """A sink whose records are prepared by operators before it."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """What is put before the sink; None: nothing."""
