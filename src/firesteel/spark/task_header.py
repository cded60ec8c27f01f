"""What a Python worker is told of its task before anything else, read ahead of the worker.

How Spark begins to tell is internal to it. No other module knows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple

from pyspark.serializers import SpecialLengths

_INT: Final = Struct("!i")
_PARTITION, _PROPERTIES = "partitionId", "localProperties"


class TaskHeader(NamedTuple):
    """:param properties: the local properties of the thread of the driver that has begun the Spark job."""

    partition: int
    properties: Mapping[str, str]


def header_of(begin: bytes) -> TaskHeader | None:
    """Return what the first bytes of a task say; None: more of them are needed.

    :raises ValueError: no task begins like this.
    """
    if len(begin) >= _INT.size and _INT.unpack_from(begin) != (SpecialLengths.START_OF_INIT_MESSAGE,):
        raise ValueError("no task begins like this")
    at = 3 * _INT.size  # behind that, the length of all that is told, and the number of the partition
    version = _text(begin, at)
    if version is None:
        return None
    context = _text(begin, at + _INT.size + len(version))
    if context is None:
        return None
    try:
        said = json.loads(context)
        return TaskHeader(int(said[_PARTITION]), dict(said[_PROPERTIES]))
    except (KeyError, TypeError) as e:
        raise ValueError("the context of a task is not as it is known") from e


def _text(data: bytes, at: int) -> bytes | None:
    """The text that begins with its length there; None: not all of it has come."""
    start = at + _INT.size
    if len(data) < start:
        return None
    (length,) = _INT.unpack_from(data, at)
    if length < 0:
        raise ValueError("a text has a negative length")
    return data[start : start + length] if len(data) >= start + length else None
