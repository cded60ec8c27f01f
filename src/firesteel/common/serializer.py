"""User-defined serializers (Flink: ``TypeSerializer``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

T = TypeVar("T")

__all__ = ["TypeSerializer"]


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type to bytes and reads them back. Serializers with equal attributes are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and self.__dict__ == other.__dict__

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Append ``element`` to ``stream``."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read one element from where ``stream`` stands."""


void = b""


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """For state that has no namespace: writes nothing."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        return None

    def deserialize(self, stream: BytesIO) -> bytes:
        return void
