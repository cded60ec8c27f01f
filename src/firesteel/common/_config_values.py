"""Values of configuration options: how text becomes a duration, a size, a number, a boolean, a list."""

from __future__ import annotations

import math
import re
from typing import Any

from firesteel.common._java_numbers import double_to_string

_UNIT_NANOS: dict[str, int] = {
    unit: nanos
    for units, nanos in (
        (("d", "day", "days"), 86_400_000_000_000),
        (("h", "hour", "hours"), 3_600_000_000_000),
        (("m", "min", "minute", "minutes"), 60_000_000_000),
        (("s", "sec", "second", "seconds"), 1_000_000_000),
        (("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
        (("µs", "μs", "micro", "micros", "microsecond", "microseconds"), 1_000),
        (("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    )
    for unit in units
}
_UNIT_BYTES: dict[str, int] = {
    unit: factor
    for power, units in enumerate(
        (
            ("", "b", "bytes"),
            ("k", "kb", "kibibytes"),
            ("m", "mb", "mebibytes"),
            ("g", "gb", "gibibytes"),
            ("t", "tb", "tebibytes"),
        )
    )
    for unit in units
    for factor in (1024**power,)
}
_NUMBER_AND_UNIT = re.compile(r"(\d+)\s*(\D*)", re.ASCII)
_ISO_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE
)


def parse_duration_nanos(text: str) -> int:
    """``"60 s"``, ``"1 min"``, ``"PT60S"``; a plain number is in milliseconds.

    :raises ValueError: none of these, or longer than 64 bits of milliseconds can say.
    """
    nanos = _read_duration(text)
    if nanos >= 2**63 * 1_000_000:
        raise ValueError("the duration does not fit into 64 bits of milliseconds")
    return nanos


def _read_duration(text: str) -> int:
    stripped = text.strip()
    if match := _NUMBER_AND_UNIT.fullmatch(stripped):
        unit = match[2].strip().lower()
        if unit in _UNIT_NANOS:
            return int(match[1]) * _UNIT_NANOS[unit]
        raise ValueError(f"unknown unit {match[2].strip()!r}: a duration is in d, h, min, s, ms, µs or ns")
    match = _ISO_DURATION.fullmatch(stripped)
    if match and any(match.groups()):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[:4])
        whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        return whole * 1_000_000_000 + int((match[5] or "0").ljust(9, "0"))
    raise ValueError("a duration is a whole number and a unit, as in '60 s', or milliseconds")


def parse_memory_bytes(text: str) -> int:
    """``"128m"``, ``"1 gb"``; a plain number is in bytes. Units are powers of 1024.

    :raises ValueError: none of these.
    """
    if match := _NUMBER_AND_UNIT.fullmatch(text.strip()):
        unit = match[2].strip().lower()
        if unit in _UNIT_BYTES:
            return int(match[1]) * _UNIT_BYTES[unit]
        raise ValueError(f"unknown unit {match[2].strip()!r}: a size is in b, kb, mb, gb or tb")
    raise ValueError("a size is a whole number and a unit, as in '128 mb', or bytes")


def parse_boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    raise ValueError("a boolean is 'true' or 'false'")


def parse_integer(text: str, bits: int = 64) -> int:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise ValueError("not a whole number")
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"the number does not fit into {bits} bits")
    return number


def parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise ValueError("the number is too large")
    return number


def to_text(value: Any) -> str:
    """The value as a configuration file would have it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_to_string(value)
    if isinstance(value, (bytes, bytearray)):
        import base64

        return f"!!binary |-\n  {base64.b64encode(value).decode('ascii')}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_quoted(k)}: {_quoted(v)}' for k, v in value.items())}}}"
    return str(value)


def _quoted(value: Any) -> str:
    text = to_text(value)
    if isinstance(value, str) and (
        text == "" or text != text.strip() or set(text) & set(",[]{}:#'\"&*!|>%@`")
    ):
        return "'" + text.replace("'", "''") + "'"
    return text
