"""Results of ``firesteel doctor``."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from firesteel.common.errors import FiresteelError


class Level(enum.Enum):
    OK = "ok"
    NOTE = "note"  # a problem only if a program needs it
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """:param mend: the command or setting that fixes it."""

    level: Level
    what: str
    mend: str | None = None

    def __str__(self) -> str:
        line = f"{self.level.value:<5} {self.what}"
        return line if self.mend is None else f"{line}\n      mend: {self.mend}"


def ok(what: str) -> Finding:
    return Finding(Level.OK, what)


def note(what: str, mend: str | None = None) -> Finding:
    return Finding(Level.NOTE, what, mend)


def fail(what: str, mend: str) -> Finding:
    return Finding(Level.FAIL, what, mend)


def failed(error: FiresteelError) -> Finding:
    what = error.message if error.detail is None else f"{error.message} ({' '.join(error.detail.split())})"
    return fail(what, error.hint or "see the message")
