"""How many examples the model tests look at, and which of several that are alike: few in each run, many when
asked for (``make soak``)."""

from __future__ import annotations

import os

#: Multiplies the examples of every model test.
FACTOR = int(os.environ.get("FIRESTEEL_SOAK", "1"))


def examples(count: int) -> int:
    """``count`` examples, or as many times more as ``FIRESTEEL_SOAK`` says."""
    return count * FACTOR
