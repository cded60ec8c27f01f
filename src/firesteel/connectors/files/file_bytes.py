"""Random access to the content of a file, decompressed if its name says that it is compressed.

Compressed files, and encodings in which a line end is more than one byte (UTF-16 ...), can only be read from
the start. The reader keeps such a stream open and continues where it stopped, so that reading a file in many
ranges decompresses it once. A range that starts elsewhere reads from the start again.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.connectors.files.decompress import DECOMPRESSORS, blocks_of
from firesteel.connectors.files.errors import naming, unreadable
from firesteel.storage.filesystems import resolve


class ByteSource(Protocol):
    """``read`` returns fewer bytes than requested only at the end of the content."""

    def read(self, offset: int, size: int) -> bytes: ...

    def close(self) -> None: ...


def _opened(path: str) -> BinaryIO:
    with naming(path):
        storage, inner = resolve(path)
        return storage.open_input(inner)


class _Seekable:
    """An uncompressed file up to ``size``, its size when it was discovered. Bytes appended later are not part
    of the split."""

    def __init__(self, path: str, size: int) -> None:
        self._file = _opened(path)
        self._path, self._size, self._at = path, size, 0

    def read(self, offset: int, size: int) -> bytes:
        wanted = min(size, self._size - offset)
        if wanted <= 0:
            return b""
        with naming(self._path, offset):
            if offset != self._at:
                self._file.seek(offset)
            data = self._file.read(wanted)
        while len(data) < wanted:  # an unbuffered read may return less
            with naming(self._path, offset + len(data)):
                more = self._file.read(wanted - len(data))
            if not more:
                raise FiresteelError(
                    f"{self._path} became shorter while it was read",
                    detail=f"{self._size} bytes when it was found, ends at {offset + len(data)} now",
                    hint="a file must not change after it appears; write it elsewhere and move it here",
                )
            data += more
        self._at = offset + len(data)
        return data

    def close(self) -> None:
        self._file.close()


class _Sequential:
    """A forward-only stream. It restarts when it is asked for an earlier offset."""

    def __init__(self, path: str, start: Callable[[], tuple[BinaryIO, Iterator[bytes]]]) -> None:
        self._path = path
        self._start = start
        self._file, self._blocks = start()
        self._held = b""
        self._held_at = 0

    def read(self, offset: int, size: int) -> bytes:
        if offset < self._held_at:
            self.close()
            self._file, self._blocks = self._start()
            self._held, self._held_at = b"", 0
        end = offset + size
        blocks = [self._held]
        at = self._held_at + len(self._held)
        while at < end:
            block = self._next_block(at)
            if not block:
                break
            at += len(block)
            if at <= offset:
                blocks, self._held_at = [], at
            else:
                blocks.append(block)
        self._held = b"".join(blocks)
        skip = offset - self._held_at
        self._held = self._held[skip:]  # bytes before the offset are not needed again in this range
        self._held_at = offset
        return self._held[:size]

    def _next_block(self, at: int) -> bytes:
        """Return the block of the content that begins at byte ``at``; empty at the end."""
        try:
            return next(self._blocks, b"")
        except Exception as error:
            raise unreadable(self._path, error, at) from error

    def close(self) -> None:
        self._blocks = iter(())
        self._file.close()


def extension_of_compression(path: str) -> str | None:
    """Return the extension that says how a file is compressed, or None. As in Flink the content is not
    examined."""
    extension = path.rpartition(".")[2].lower()
    return extension if extension in DECOMPRESSORS else None


def check_encoding(encoding: str) -> str:
    """Return Python's name for the encoding."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)  # rot13 and base64 are codecs, but not text encodings
        return name
    except LookupError as error:
        raise ConfigurationError(
            f"unknown character set: {encoding}", hint="give a name that Python's codecs know"
        ) from error


def has_plain_line_ends(encoding: str) -> bool:
    """Return true if in text of this encoding the bytes 0x0A and 0x0D are always line ends."""
    if encoding.startswith(("utf-7", "iso2022", "hz")):
        return False
    return "\n".encode(encoding) == b"\n" and "\r".encode(encoding) == b"\r"


def _transcoded(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for block in blocks:
        if text := decoder.decode(block):
            yield text.encode()
    if text := decoder.decode(b"", final=True):
        yield text.encode()


def open_bytes(path: str, size: int, encoding: str) -> tuple[ByteSource, str]:
    """Open the content of a file; return it with the encoding that its bytes then have."""
    extension = extension_of_compression(path)
    if extension is None and has_plain_line_ends(encoding):
        return _Seekable(path, size), encoding
    transcode = not has_plain_line_ends(encoding)

    def start() -> tuple[BinaryIO, Iterator[bytes]]:
        file = _opened(path)
        blocks = blocks_of(file) if extension is None else DECOMPRESSORS[extension](file)
        return file, _transcoded(blocks, encoding) if transcode else blocks

    return _Sequential(path, start), "utf-8" if transcode else encoding
