"""Identity of a job (Flink: ``JobID``)."""

from __future__ import annotations

import secrets

from firesteel.common.errors import ProgramError

__all__ = ["JobID"]

_HEX_DIGITS = 32


class JobID:
    """128 random bits, written as 32 hexadecimal digits.

    :param hex_string: an id that exists already; None: a new one.
    """

    __slots__ = ("_hex",)

    def __init__(self, hex_string: str | None = None) -> None:
        if hex_string is None:
            hex_string = secrets.token_hex(_HEX_DIGITS // 2)
        if len(hex_string) != _HEX_DIGITS or not set(hex_string) <= set("0123456789abcdefABCDEF"):
            raise ProgramError(f"a job id has {_HEX_DIGITS} hexadecimal digits, not {hex_string!r}")
        self._hex = hex_string.lower()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash(self._hex)

    def __repr__(self) -> str:
        return f"JobID({self._hex!r})"

    def __str__(self) -> str:
        return self._hex
