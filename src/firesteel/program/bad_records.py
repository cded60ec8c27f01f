"""Records of a source that cannot be read: how a reader finds them, and what it says of them.

A reader never decides what becomes of a bad record. It goes on behind it and hands it on as data, in the
chunk that it belongs to (``Chunk.bad``). The source operator gives it to whoever reads the side output
``BAD_RECORDS`` of the stream; where nobody does, the first one fails the job, with the place it was read
from. What a format leaves out because it was told to (``ignore_parse_errors``) is a number,
``Chunk.ignored``. Both count in the metric ``numRecordsInErrors``, as in Flink.

A reader of messages decodes them like this, many at once:

>>> from firesteel.common.serialization import DeserializationSchema
>>> class Numbers(DeserializationSchema):
...     def deserialize(self, message):
...         return int(message)
>>> decode = message_decoder(Numbers())
>>> decoded = decode([b"1", b"x", b"3"])
>>> decoded.values, decoded.origins
([1, 3], [0, 2])
>>> [bad_record({"topic": "orders", "offset": 40 + i}, b"x", error) for i, error in decoded.bad]
[BadRecord(topic orders, offset 41: ValueError: invalid literal for int() with base 10: b'x')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_
from typing import Any, Final, NamedTuple

from firesteel.common.errors import BadRecordError, FiresteelError
from firesteel.common.serialization import DeserializationSchema

SIDE_OUTPUT: Final = "firesteel.bad-records"
_SHOWN: Final = 500  # bytes of a payload in an error text


@dataclass(frozen=True, slots=True, repr=False)
class BadRecord:
    """A record that could not be read.

    ``place`` says where it is, in the source's own terms: topic, partition and offset; path and line.
    ``payload`` is what was there, None where the source has no bytes of it. ``error`` is the reason.
    """

    place: Mapping[str, Any]
    payload: bytes | None
    error: str

    @property
    def origin(self) -> str:
        """The place as text: ``topic orders, partition 3, offset 41``."""
        return ", ".join(f"{name} {value}" for name, value in self.place.items())

    def __repr__(self) -> str:
        return f"BadRecord({self.origin}: {self.error})"

    def as_error(self, source: str) -> BadRecordError:
        """The error that fails a job whose program does not take care of bad records."""
        shown = "" if self.payload is None else self.payload[:_SHOWN].decode("utf-8", "backslashreplace")
        return BadRecordError(
            f"{source} cannot read a record: {self.origin}",
            detail=f"{self.error}: {shown}" if shown else self.error,
            hint="read the stream's side output BAD_RECORDS (firesteel.datastream.bad_records) to keep such "
            "records and go on, or set ignore_parse_errors where the format has it",
        )


def bad_record(place: Mapping[str, Any], payload: bytes | None, error: Exception) -> BadRecord:
    """The bad record that a failure of a schema makes."""
    if payload is None:
        return BadRecord(place, None, f"the message has no value ({type(error).__name__}: {error})")
    if isinstance(error, FiresteelError):
        reason = error.message if error.detail is None else f"{error.message}: {error.detail}"
        return BadRecord(place, payload, reason)
    return BadRecord(place, payload, f"{type(error).__name__}: {error}")


class Decoded(NamedTuple):
    """What came of some messages. ``values[i]`` is of message ``origins[i]``; None: of message ``i``, one
    for each. ``bad`` names the messages that could not be read, ``ignored`` counts those left out."""

    values: list[Any]
    origins: list[int] | None
    bad: list[tuple[int, Exception]]
    ignored: int


MessageDecoder = Callable[[Sequence[bytes | None]], Decoded]


def message_decoder(schema: DeserializationSchema) -> MessageDecoder:
    """The function that decodes many messages with a schema.

    It calls ``schema.deserialize_batch`` if the schema defines one, and falls back to one message at a time
    when that fails. An OSError is not a bad record but a system that cannot be reached (a schema registry):
    it is raised.
    """
    batch: Callable[[Any], list[Any]] = schema.deserialize_batch
    has_batch = _reads_batches(type(schema))
    one_each = type(schema).deserialize_many is DeserializationSchema.deserialize_many
    careful = _decode_each if one_each else _decode_many

    def decode(messages: Sequence[bytes | None]) -> Decoded:  # hot
        before = schema.ignored
        if has_batch:
            try:
                values = batch(messages)
            except Exception:
                schema.ignored = before  # one by one, to find which
            else:
                if len(values) == len(messages):
                    return Decoded(*_without_none(values), [], schema.ignored - before)
                schema.ignored = before
        values, origins, bad = careful(schema, messages)
        return Decoded(values, origins, bad, schema.ignored - before)

    return decode


def _reads_batches(kind: type[DeserializationSchema]) -> bool:
    """Whether a class has a ``deserialize_batch`` of its own, and none derived from it reads single messages
    in another way."""
    batch, one, many = (
        next(owner for owner in kind.__mro__ if name in vars(owner))
        for name in ("deserialize_batch", "deserialize", "deserialize_many")
    )
    return batch is not DeserializationSchema and issubclass(batch, one) and issubclass(batch, many)


_Found = tuple[list[Any], list[int] | None, list[tuple[int, Exception]]]


def _without_none(values: list[Any]) -> tuple[list[Any], list[int] | None]:  # hot
    if True not in map(is_, values, repeat(None)):
        return values, None
    origins = [i for i, value in enumerate(values) if value is not None]
    return [values[i] for i in origins], origins


def _decode_each(schema: DeserializationSchema, messages: Sequence[bytes | None]) -> _Found:  # hot
    deserialize: Callable[[Any], Any] = schema.deserialize
    values: list[Any] = []
    origins: list[int] = []
    bad: list[tuple[int, Exception]] = []
    for index, message in enumerate(messages):
        try:
            value = deserialize(message)
        except OSError:
            raise
        except Exception as error:
            bad.append((index, error))
            continue
        if value is not None:
            values.append(value)
            origins.append(index)
    return values, None if len(values) == len(messages) else origins, bad


def _decode_many(schema: DeserializationSchema, messages: Sequence[bytes | None]) -> _Found:
    values: list[Any] = []
    origins: list[int] = []
    bad: list[tuple[int, Exception]] = []
    for index, message in enumerate(messages):
        try:
            elements = schema.deserialize_many(message)
        except OSError:
            raise
        except Exception as error:
            bad.append((index, error))
            continue
        values += elements
        origins += [index] * len(elements)
    return values, origins, bad
