"""Between objects and bytes, for sources, sinks and files (Flink: ``SerializationSchema``, ``Encoder``)."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from firesteel.common._map_all import map_all
from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.typeinfo import TypeInformation, Types

__all__ = [
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC):
    """Turns an element into the bytes that a system outside takes."""

    def open(self) -> None:
        """Called once in the worker before the first element."""

    def check_type(self, type_info: TypeInformation | None) -> None:
        """Raise a ProgramError when a stream of this declared type (None: any Python object) cannot be
        written. Called when the program puts a sink behind a stream."""

    @abstractmethod
    def serialize(self, element: Any) -> bytes | None:
        """The bytes of ``element``; None where the target knows empty values (a Kafka tombstone)."""

    def serialize_batch(self, elements: Sequence[Any]) -> list[bytes | None]:
        """The bytes of some elements: what sinks call that have many at once. An override must give what
        ``serialize`` gives, and fail where it fails."""
        return map_all(self.serialize, elements)


def serialize_all(schema: SerializationSchema, elements: Sequence[Any]) -> list[bytes | None]:
    """Return the bytes of each of *elements*.

    :raises ProgramError: ``serialize_batch`` of the user's gives another number of them.
    """
    bodies = schema.serialize_batch(elements)
    if len(bodies) != len(elements):
        raise ProgramError(
            f"{type(schema).__name__}.serialize_batch() must return one result for each element.",
            detail=f"it returned {len(bodies)} for {len(elements)} elements",
        )
    return bodies


class DeserializationSchema(ABC):
    """Turns bytes of a system outside into an element.

    What ``deserialize`` raises makes the message a bad record: it fails the job, or goes to the side output
    of the source (``firesteel.datastream.bad_records``). An OSError is different: it always fails the job.
    """

    ignored = 0  #: How many messages were left out because of an option to ignore errors; it only grows.

    def open(self) -> None:
        """Called once in the worker before the first message."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The element in ``message``; None: nothing, the message is left out."""

    def deserialize_batch(self, messages: Sequence[bytes]) -> list[Any]:
        """The element in each of some messages, or None: what sources call that have many at once. An
        override must give what ``deserialize`` gives, and fail where it fails."""
        return map_all(self.deserialize, messages)

    def deserialize_many(self, message: bytes | None) -> Sequence[Any]:
        """All elements of a message, for a format where one may have several (Flink: ``Collector``)."""
        element = self.deserialize(message)  # type: ignore[arg-type]  # it refuses a tombstone
        return () if element is None else (element,)

    def is_end_of_stream(self, next_element: Any) -> bool:
        """Whether the source ends before this element."""
        return False

    def get_produced_type(self) -> TypeInformation | None:
        """The declared type of the elements; None: any Python object."""
        return None


def checked_charset(name: str) -> str:
    """A charset under Python's name for it."""
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ProgramError(f"there is no charset {name!r}", hint="as in 'UTF-8' or 'ISO-8859-1'") from None


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text in a charset. What the charset cannot express is replaced, as Java does it."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = checked_charset(charset)

    def open(self) -> None:
        """Nothing to prepare."""

    def serialize(self, element: Any) -> bytes:
        if not isinstance(element, str):
            raise TypeMismatchError(
                f"SimpleStringSchema writes str, not {type(element).__name__}", detail=f"value: {element!r}"
            )
        return element.encode(self._charset, "replace")

    def deserialize(self, message: bytes) -> str:
        return message.decode(self._charset, "replace")

    def deserialize_batch(self, messages: Sequence[bytes]) -> list[Any]:
        if type(self).deserialize is not SimpleStringSchema.deserialize:
            return super().deserialize_batch(messages)
        charset = self._charset
        return [str(message, charset, "replace") for message in messages]

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def __init__(self) -> None:
        pass

    def open(self) -> None:
        """Nothing to prepare."""

    def serialize(self, element: Any) -> bytes:
        if not isinstance(element, (bytes, bytearray)):
            raise TypeMismatchError(
                f"ByteArraySchema writes bytes, not {type(element).__name__}", detail=f"value: {element!r}"
            )
        return bytes(element)

    def deserialize(self, message: bytes) -> bytes:
        return message

    def get_produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a Row, which must be bytes. Used for Kafka keys.

    :param field_index: position of the field, from 0.
    """

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise ProgramError(f"Field index must be non-negative, not {field_index}")
        self._field_index = field_index

    def serialize(self, element: Any) -> bytes:
        value = element[self._field_index]
        if not isinstance(value, (bytes, bytearray)):
            raise TypeMismatchError(
                f"field {self._field_index} must be bytes, not {type(value).__name__}",
                detail=f"row: {element!r}",
                hint="encode the field before the sink, as in value.encode()",
            )
        return bytes(value)


class Encoder(ABC):
    """Writes elements one after the other into a file of a file sink."""

    @abstractmethod
    def encode(self, element: Any) -> bytes:
        """The bytes that are appended for ``element``."""

    def with_formatter(self, to_string: Callable[[Any], str]) -> Encoder:
        """The encoder to use for a stream whose elements show as ``to_string`` makes them."""
        return self

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """One line of text for each element."""
        return SimpleStringEncoder(charset_name)


class SimpleStringEncoder(Encoder):
    """See ``Encoder.simple_string_encoder``."""

    def __init__(self, charset_name: str = "UTF-8", to_string: Callable[[Any], str] = str) -> None:
        self.charset_name = checked_charset(charset_name)
        self._to_string = to_string

    def encode(self, element: Any) -> bytes:
        return f"{self._to_string(element)}\n".encode(self.charset_name, "replace")

    def with_formatter(self, to_string: Callable[[Any], str]) -> Encoder:
        return SimpleStringEncoder(self.charset_name, to_string)


class BulkWriter(ABC):
    """Writes many elements into one file of a format that cannot be appended to (Parquet, Avro)."""

    @abstractmethod
    def add_element(self, element: Any) -> None: ...

    def add_elements(self, elements: Sequence[Any]) -> None:
        """Some elements in order; a writer that is quicker with many at once overrides it."""
        for element in elements:
            self.add_element(element)

    @abstractmethod
    def flush(self) -> None:
        """Hand over what is buffered, as far as the format allows."""

    @abstractmethod
    def finish(self) -> None:
        """Write what completes the file. The stream stays open."""

    def abort(self) -> None:
        """The file is given up, and its stream closed after this: let go of it."""


class BulkWriterFactory(ABC):
    """Makes a ``BulkWriter`` for each file."""

    @abstractmethod
    def create(self, stream: BinaryIO) -> BulkWriter: ...
