"""Text as bytes for the world outside.

A ``str`` of Python may hold half of a surrogate pair, and so may a string of Java; JSON can write one as an
escape. Within a job such text is kept as it is: in records, keys, state and exchanges. Where text is encoded
for the outside, each half becomes ``?``, as in Java.
"""

from __future__ import annotations

from typing import Any

from firesteel.common.types import Row, _make_like


def utf8(text: str) -> bytes:
    """``text`` in UTF-8."""
    return text.encode("utf-8", "replace")


def encodable(value: Any) -> Any:
    """A copy of ``value`` whose texts, those in rows, dicts, lists and tuples too, can be encoded: for
    libraries that encode on their own, when they raise UnicodeEncodeError."""
    if isinstance(value, str):
        return utf8(value).decode()
    if isinstance(value, dict):
        return {encodable(k): encodable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, Row)):
        return _make_like(value, map(encodable, value))
    return value
