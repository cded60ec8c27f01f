"""Ctrl-C while this thread waits for another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """A block, or a function, that waits by the locks of ``threading`` or ``queue``.

    :raises KeyboardInterrupt: of a second Ctrl-C, too, which comes while such a lock is taken back because of
        the first one; Python says then that a lock is released that is not held.
    """
    try:
        yield
    except RuntimeError as e:
        if not isinstance(e.__context__, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None
