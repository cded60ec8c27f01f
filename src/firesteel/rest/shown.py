"""Values of users' programs as text that may be shown."""

from __future__ import annotations

from typing import Final

from firesteel.common.masking import masked
from firesteel.runtime.error_report import summary_of

_LENGTH: Final = 10_000  # characters of a value


def shown_value(value: object) -> str:
    """Return a value as text, without the secrets in it and not longer than may be shown."""
    try:
        text = masked(str(value))
    except Exception as e:  # of a user's class
        return f"(showing it raises {summary_of(e)})"
    more = len(text) - _LENGTH
    return text if more <= 0 else f"{text[:_LENGTH]} ... ({more} characters left out)"
