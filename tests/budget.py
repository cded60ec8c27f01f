"""How many examples the model tests look at, and which of several that are alike: few in each run, many when
asked for (``make soak``)."""

from __future__ import annotations

import os
import random
import zlib

#: Multiplies the examples of every model test.
FACTOR = int(os.environ.get("FIRESTEEL_SOAK", "1"))


def examples(count: int) -> int:
    """``count`` examples, or as many times more as ``FIRESTEEL_SOAK`` says."""
    return count * FACTOR


def seed_of(what: str, number: int = 0) -> int:
    """The seed of random inputs and moments. It is the same in each run, for chance must not decide about a
    change, and another one each time in a soak."""
    return zlib.crc32(f"{what} {number}".encode()) if FACTOR == 1 else random.randrange(1 << 32)
