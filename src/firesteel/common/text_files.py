"""Files of text that a user has written: settings, statements, plans."""

from __future__ import annotations

from pathlib import Path

from firesteel.common.errors import ConfigurationError

__all__ = ["text_of"]


def text_of(path: Path, what: str) -> str:
    """Return the text of a file in UTF-8, whatever the language of the system is; a byte order mark is not a
    part of it.

    :param what: the file is, for the error.
    :raises ConfigurationError: it is in another encoding. :raises OSError: it cannot be read.
    """
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            f"{what} {path} is not in UTF-8",
            detail=f"line {line} has the byte 0x{data[error.start]:02x}, {error.reason}",
            hint="write the file again in UTF-8",
        ) from error
