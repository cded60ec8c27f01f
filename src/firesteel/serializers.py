"""The serializer of a PyFlink environment (``pyflink.serializers``)."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from firesteel.common.errors import ProgramError
from firesteel.common.serializer import TypeSerializer

__all__ = ["PickleSerializer"]

_LARGEST: Final = (1 << 31) - 1


class PickleSerializer(TypeSerializer[Iterable[Any]]):
    """Writes each object as its length in 4 bytes, followed by its pickle, as in PyFlink.

    >>> import io
    >>> stream = io.BytesIO()
    >>> PickleSerializer().serialize([1, "two"], stream)
    >>> _ = stream.seek(0)
    >>> list(PickleSerializer().deserialize(stream))
    [1, 'two']
    """

    def dumps(self, obj: Any) -> bytes:
        """Serialize an object."""
        return pickle.dumps(obj, 3)

    def loads(self, obj: bytes) -> Any:
        """Deserialize an object. The bytes must come from a trusted source: a pickle may run code."""
        return pickle.loads(obj, encoding="bytes")

    def serialize(self, iterable: Iterable[Any], stream: BinaryIO) -> None:
        """Append the objects of *iterable* to *stream*.

        :raises ProgramError: an object is larger than 2 GB.
        """
        for value in iterable:
            data = self.dumps(value)
            if len(data) > _LARGEST:
                raise ProgramError("An object is larger than 2 GB.", detail=f"it has {len(data)} bytes")
            stream.write(len(data).to_bytes(4, "big"))
            stream.write(data)

    def deserialize(self, stream: BinaryIO) -> Iterator[Any]:
        """Read objects until *stream* ends."""
        while len(head := stream.read(4)) == 4:
            length = int.from_bytes(head, "big")
            data = stream.read(length)
            if len(data) < length:
                return
            yield self.loads(data)
