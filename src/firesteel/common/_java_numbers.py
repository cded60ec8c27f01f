"""Numbers as Java prints them (``Double.toString``, ``Float.toString``)."""

from __future__ import annotations

import struct
from collections.abc import Callable

_FLOAT = struct.Struct("<f")


def double_to_string(x: float) -> str:
    """Shortest digits that mean ``x``, at least two; from 1e-3 to 1e7 without an exponent.

    >>> double_to_string(1e7), double_to_string(0.001), double_to_string(5e-324)
    ('1.0E7', '0.001', '4.9E-324')
    """
    text = repr(x)
    if 1e-3 <= x < 1e7 or -1e7 < x <= -1e-3:
        # Python writes these without an exponent as well, and with the same digits
        return text
    if x == 0.0:
        return text
    if x != x:
        return "NaN"
    if x in (_INFINITY, -_INFINITY):
        return "Infinity" if x > 0 else "-Infinity"
    return _scientific(x, float)


def float_to_string(x: float) -> str:
    """The same for a number that is rounded to 32 bits.

    >>> float_to_string(0.1), float_to_string(16777217.0)
    ('0.1', '1.6777216E7')
    """
    x = to_float32(x)
    if x == 0.0 or x != x or x in (_INFINITY, -_INFINITY):
        return double_to_string(x)
    if not 1e-3 <= abs(x) < 1e7:
        return _scientific(x, _parse_float32)
    return repr(float(_shortest(x, _parse_float32)))


def to_float32(x: float) -> float:
    """``x`` rounded to 32 bits; infinite where it is too large, as a C cast does it."""
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(x))[0]
    except OverflowError:
        return _INFINITY if x > 0 else -_INFINITY
    return rounded


_INFINITY = float("inf")


def _parse_float32(text: str) -> float:
    return to_float32(float(text))


def _shortest(x: float, parse: Callable[[str], float]) -> str:
    """``x`` in scientific notation with the fewest digits, two or more, that still mean ``x``."""
    for digits in range(1, 17):
        text = f"{x:.{digits}e}"
        if parse(text) == x:
            return text
    return f"{x:.16e}"


def _scientific(x: float, parse: Callable[[str], float]) -> str:
    mantissa, exponent = _shortest(x, parse).split("e")
    whole, fraction = mantissa.split(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}E{int(exponent)}"
