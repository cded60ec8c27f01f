"""Encoding of text that leaves a job.

A Python ``str``, like a Java string, may contain a lone surrogate; JSON can write one as an escape. Within a
job such text is kept unchanged: in records, keys, state and exchanges. When text is encoded for the outside,
each lone surrogate becomes ``?``, as in Java.
"""

from __future__ import annotations

from typing import Any

from firesteel.common.types import Row, _make_like


def utf8(text: str) -> bytes:
    """Encode ``text`` in UTF-8."""
    return text.encode("utf-8", "replace")


def encodable(value: Any) -> Any:
    """Return a copy of ``value`` whose texts, also those in rows, dicts, lists and tuples, can be encoded.
    For use with libraries that encode text themselves, when they raise UnicodeEncodeError."""
    if isinstance(value, str):
        return utf8(value).decode()
    if isinstance(value, dict):
        return {encodable(k): encodable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, Row)):
        return _make_like(value, map(encodable, value))
    return value
