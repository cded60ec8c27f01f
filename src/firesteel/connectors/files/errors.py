"""Errors in reading a file, which name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from firesteel.common.errors import FiresteelError


class FileReadError(FiresteelError, OSError):
    """Raised when the content of a file cannot be read: it is truncated, corrupt or not accessible."""


@contextmanager
def naming(path: str, at: int | None = None) -> Iterator[None]:
    """Turn each error raised inside into one that names the file at ``path`` and byte ``at`` of its
    content."""
    try:
        yield
    except FiresteelError:
        raise
    except Exception as error:
        raise unreadable(path, error, at) from error


def unreadable(path: str, error: Exception, at: int | None = None) -> FileReadError:
    """Return the error for a file that could not be read because of ``error``."""
    place = "" if at is None else f"after byte {at} of its content: "
    return FileReadError(
        f"cannot read {path}",
        detail=f"{place}{type(error).__name__}: {error}",
        hint="check that the file is complete; it must be written elsewhere and moved to where it is read",
    )
