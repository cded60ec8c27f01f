"""Decompresses files block by block.

Truncated content, and what follows the first compressed stream, are handled as Flink's decompressors do:

=======  ==========================  ============================  ==================
format   truncated content           another stream follows        other bytes follow
=======  ==========================  ============================  ==================
gzip     error                       is read                       are ignored
bzip2    error                       is read (Flink stops here)    are ignored
xz       error                       is read                       error
deflate  error                       is ignored                    are ignored
zstd     error                       is read                       error
=======  ==========================  ============================  ==================

An empty file is a truncated stream, except for zstd, where it is empty content.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol, cast

_BLOCK: Final = 256 << 10
_ZLIB: Final = 15  # the largest window, with a zlib header
_GZIP: Final = 31  # the same with a gzip header, whose checksum and length are verified


class _Stream(Protocol):
    """One compressed stream (``bz2.BZ2Decompressor``, ``lzma.LZMADecompressor``)."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class _Zlib:
    """Gives ``zlib`` the interface of the other decompressors."""

    def __init__(self, window: int) -> None:
        self._stream = zlib.decompressobj(window)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


@dataclass(frozen=True, slots=True)
class _Format:
    """``magic`` is what each further stream begins with; None: only the first stream is read."""

    name: str
    new: Callable[[], _Stream]
    magic: bytes | None
    padded: bool = False  # zero bytes may follow a stream
    refuses_others: bool = False  # other bytes after a stream are an error

    def goes_on(self, rest: bytes) -> bool:
        """Return true if ``rest``, which is not empty, begins another stream."""
        if self.magic is None:
            return False
        begins = rest[: len(self.magic)] == self.magic[: len(rest)]
        if not begins and self.refuses_others:
            raise ValueError(f"bytes after the {self.name} data that are not {self.name} data")
        return begins


def _read(format_: _Format, file: BinaryIO) -> Iterator[bytes]:
    stream = format_.new()
    data = file.read(_BLOCK)
    while True:
        while not stream.eof:
            if block := stream.decompress(data, _BLOCK):
                yield block
            data = b""
            if stream.needs_input and not stream.eof:
                data = file.read(_BLOCK)
                if not data:
                    raise EOFError(f"the {format_.name} data ends before its end mark: the file is truncated")
        data = _after_stream(format_, file, stream.unused_data)
        if not data or not format_.goes_on(data):
            return
        stream = format_.new()


def _after_stream(format_: _Format, file: BinaryIO, data: bytes) -> bytes:
    """Return what follows a stream and its padding: enough bytes to recognise another stream, if there is
    one."""
    enough = len(format_.magic or b"")
    while len(data) < enough:
        more = file.read(_BLOCK)
        data += more
        if format_.padded:
            data = data.lstrip(b"\0")
        if not more:
            break
    return data.lstrip(b"\0") if format_.padded else data


def _zstd(file: BinaryIO) -> Iterator[bytes]:
    import pyarrow as pa

    return blocks_of(cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")))


def blocks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the blocks of an uncompressed stream, and close it at its end."""
    with stream:
        while block := stream.read(_BLOCK):
            yield block


def _reading(format_: _Format) -> Callable[[BinaryIO], Iterator[bytes]]:
    return lambda file: _read(format_, file)


_GZ: Final = _reading(_Format("gzip", lambda: _Zlib(_GZIP), b"\x1f\x8b\x08", padded=True))

#: By file name extension.
DECOMPRESSORS: Final[dict[str, Callable[[BinaryIO], Iterator[bytes]]]] = {
    "gz": _GZ,
    "gzip": _GZ,
    "bz2": _reading(_Format("bzip2", bz2.BZ2Decompressor, b"BZh")),
    "xz": _reading(_Format("xz", lzma.LZMADecompressor, b"\xfd7zXZ\0", padded=True, refuses_others=True)),
    "deflate": _reading(_Format("zlib", lambda: _Zlib(_ZLIB), None)),
    "zst": _zstd,
}
