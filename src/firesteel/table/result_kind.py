"""What the result of a statement has (PyFlink: ``pyflink.table.result_kind``)."""

from __future__ import annotations

from enum import Enum

__all__ = ["ResultKind"]


class ResultKind(Enum):
    """SUCCESS: a single row that says OK. SUCCESS_WITH_CONTENT: rows."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
