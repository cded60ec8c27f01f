"""Applies the encoder of a file sink to many elements at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common._map_all import map_all
from firesteel.common.serialization import Encoder, SimpleStringEncoder
from firesteel.common.typeinfo import TypeInformation
from firesteel.formats.java_format import formatter

BatchEncoder = Callable[[Sequence[Any]], bytes]


def batch_encoder(encoder: Encoder, type_info: TypeInformation | None) -> BatchEncoder:
    """Return the function that encodes elements in order. A simple string encoder formats them by their type.

    A custom encoder may define ``encode_batch(values) -> bytes``, which is then used.
    """
    if type(encoder) is SimpleStringEncoder:
        charset, to_string = encoder.charset_name, formatter(type_info)

        def encode_lines(values: Sequence[Any]) -> bytes:  # hot
            if not values:
                return b""
            return ("\n".join(map_all(to_string, values)) + "\n").encode(charset, "replace")

        return encode_lines
    batch: BatchEncoder | None = getattr(encoder, "encode_batch", None)
    if batch is not None:
        return batch
    encode = encoder.encode
    return lambda values: b"".join(map_all(encode, values))
