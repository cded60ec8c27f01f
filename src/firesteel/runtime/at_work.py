"""The operator whose code runs now in this thread, for functions that are opened at their first call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.runtime.operators.base import BaseOperator

__all__ = ["at_work", "enter"]

_LOCAL = threading.local()


def enter(operator: BaseOperator) -> None:
    """The operator begins with a batch."""
    _LOCAL.operator = operator


def at_work() -> BaseOperator | None:
    """The operator that took a batch last; None: this is no task."""
    found: BaseOperator | None = getattr(_LOCAL, "operator", None)
    return found
