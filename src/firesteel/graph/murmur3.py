"""MurmurHash3 (x64, 128 bits, seed 0): the hash behind Flink's operator ids."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def _rotate_left(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & _MASK


def _mix_low(k: int) -> int:
    return (_rotate_left((k * _C1) & _MASK, 31) * _C2) & _MASK


def _mix_high(k: int) -> int:
    return (_rotate_left((k * _C2) & _MASK, 33) * _C1) & _MASK


def _finalize(h: int) -> int:
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & _MASK
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK
    return h ^ (h >> 33)


def murmur3_128(data: bytes) -> bytes:
    """The 16 bytes of the hash, low half first, each half little-endian (as Guava's ``asBytes``).

    >>> murmur3_128(b"").hex()
    '00000000000000000000000000000000'
    """
    h1 = h2 = 0
    whole = len(data) - len(data) % 16
    for i in range(0, whole, 16):
        h1 ^= _mix_low(int.from_bytes(data[i : i + 8], "little"))
        h1 = ((_rotate_left(h1, 27) + h2) * 5 + 0x52DCE729) & _MASK
        h2 ^= _mix_high(int.from_bytes(data[i + 8 : i + 16], "little"))
        h2 = ((_rotate_left(h2, 31) + h1) * 5 + 0x38495AB5) & _MASK
    tail = data[whole:]
    h2 ^= _mix_high(int.from_bytes(tail[8:], "little"))
    h1 ^= _mix_low(int.from_bytes(tail[:8], "little"))
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = _finalize(h1), _finalize(h2)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return h1.to_bytes(8, "little") + h2.to_bytes(8, "little")
