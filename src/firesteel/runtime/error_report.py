"""An exception of the user's code on its way to the driver: as itself where that can be had, and as text.

Exceptions are users' code too: their ``__str__`` and ``__reduce__`` may raise, and they may hold a whole
record. Whatever they do, the report is made, and it is small.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any, Final

from firesteel.common.masking import masked
from firesteel.runtime.program import UserError
from firesteel.runtime.user_code import UserCodeError

_SUMMARY_CHARACTERS: Final = 1_000
_TRACEBACK_CHARACTERS: Final = 50_000
_PICKLE_BYTES: Final = 1 << 20  # a larger exception is told of by its text alone


def report_of(error: UserCodeError, subtask: int) -> UserError:
    cause = error.__cause__ or error
    summary, text = texts_of(cause)
    return UserError(error.operator, error.uid, subtask, _pickled(cause), summary, text)


def summary_of(error: BaseException) -> str:
    """Return the name and the text of an exception: ``ZeroDivisionError: division by zero``."""
    return texts_of(error)[0]


def texts_of(error: BaseException) -> tuple[str, str]:
    """Return the summary of an exception in a line or a few, and its traceback: short, without secrets."""
    try:
        text = "".join(traceback.format_exception(error))
        # Not simply the last line: notes come behind it, the place of a syntax error before.
        lines = traceback.format_exception_only(error)
        summary = next((line for line in lines if not line.startswith(" ")), lines[-1]).strip()
    except BaseException as raised:  # by what the exception has for notes, or for causes
        summary = f"{type(error).__name__} (showing it raises {type(raised).__name__})"
        text = "".join([*traceback.format_tb(error.__traceback__), summary, "\n"])
    return _shown(summary, _SUMMARY_CHARACTERS), _shown(text, _TRACEBACK_CHARACTERS)


def _shown(text: str, limit: int) -> str:
    """A text without secrets, at most so long. What is cut off first may cut a secret in two, and goes."""
    return _cut(masked(_cut(text, 4 * limit)), limit)


def _cut(text: str, limit: int) -> str:
    """At most about *limit* characters: the beginning of a *text*, and its end."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} ... ({len(text) - 2 * half} characters left out) ... {text[-half:]}"


def _pickled(error: BaseException) -> bytes | None:
    """The exception itself where it can be had back, for many can be pickled and not be read again: their
    class wants other arguments than ``args``."""
    for form in (error, _Parts(error)):
        try:
            data = pickle.dumps(form, 5)
            if len(data) > _PICKLE_BYTES:
                return None
            pickle.loads(data)
        except BaseException:  # whatever __reduce__ and __setstate__ of the user's raise
            continue
        return data
    return None


class _Parts:
    """Pickles as an exception that is made again without its ``__init__``."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self._error), self._error.args, self._error.__dict__)


def _made_again(cls: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error
