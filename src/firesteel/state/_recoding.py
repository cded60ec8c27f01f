"""What a conversion of values does to the bytes of an entry, for the records of the kinds of state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.state._value_codec import TOMBSTONE, decode_value, encode_value, is_none

__all__ = ["recoding", "recoding_but_none"]


def recoding(convert: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Of an entry that is one value; where *convert* gives None there is none any more."""

    def recode(body: bytes) -> bytes:
        value = convert(decode_value(body))
        return TOMBSTONE if value is None else encode_value(value)

    return recode


def recoding_but_none(convert: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """The same where an entry may hold None, which stays what it is."""
    recode = recoding(convert)
    return lambda body: body if is_none(body) else recode(body)
