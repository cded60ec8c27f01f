"""Exceptions as Flink's Java client wants them: Java-serialized ``SerializedThrowable`` of ``flink.util``.

The client builds its exception from these bytes alone, and prints class and message, not the trace.
"""

from __future__ import annotations

import base64
import struct
from typing import Final

_CLASS: Final = b"\x72"
_STRING: Final = b"\x74"
_LONG_STRING: Final = b"\x7c"
_NULL: Final = b"\x70"
_END: Final = b"\x78"
_SHORT: Final = 0xFFFF  # bytes that a string with two bytes of length may have


def serialized_throwable(name: str, message: str, trace: str) -> str:
    """Return base64 of the Java object.

    >>> serialized_throwable("ValueError", "no room", "trace")[:40]
    'rO0ABXNyAClvcmcuYXBhY2hlLmZsaW5rLnV0aWwu'
    """
    values = _text(message) + _NULL * 2 + _END + _text(trace) + _text(name) + _NULL
    return base64.b64encode(_HEADER + values).decode()


def modified_utf8(text: str) -> bytes:
    """UTF-8 as Java writes it: no zero byte, and surrogates instead of characters beyond the basic plane."""
    pairs = text.encode("utf-16-be", "surrogatepass")
    units = struct.unpack(f">{len(pairs) // 2}H", pairs)
    return b"".join(chr(unit).encode("utf-8", "surrogatepass") if unit else b"\xc0\x80" for unit in units)


def _name(text: str) -> bytes:
    encoded = modified_utf8(text)
    return struct.pack(">H", len(encoded)) + encoded


def _text(text: str) -> bytes:
    encoded = modified_utf8(text)
    if len(encoded) <= _SHORT:
        return _STRING + struct.pack(">H", len(encoded)) + encoded
    return _LONG_STRING + struct.pack(">Q", len(encoded)) + encoded


def _class(name: str, version: int, flags: int, fields: tuple[tuple[bytes, str, str], ...]) -> bytes:
    described = b"".join(kind + _name(field) + _text(of) for kind, field, of in fields)
    return _CLASS + _name(name) + struct.pack(">QBH", version, flags, len(fields)) + described + _END


_TEXT: Final = "Ljava/lang/String;"
_HEADER: Final = b"".join(
    (
        b"\xac\xed\x00\x05\x73",
        _class(
            "org.apache.flink.util.SerializedThrowable",
            7284183123441947635,
            2,
            (
                (b"L", "fullStringifiedStackTrace", _TEXT),
                (b"L", "originalErrorClassName", _TEXT),
                (b"[", "serializedException", "[B"),
            ),
        ),
        _class("java.lang.Exception", 0xD0FD1F3E1A3B1CC4, 2, ()),
        _class(
            "java.lang.Throwable",
            0xD5C635273977B8CB,
            3,
            (
                (b"L", "cause", "Ljava/lang/Throwable;"),
                (b"L", "detailMessage", _TEXT),
                (b"[", "stackTrace", "[Ljava/lang/StackTraceElement;"),
                (b"L", "suppressedExceptions", "Ljava/util/List;"),
            ),
        ),
        _NULL + _NULL,  # no further superclass; no cause
    )
)
