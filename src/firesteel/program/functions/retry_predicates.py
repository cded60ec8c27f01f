"""Predicates for retry strategies of async functions."""

from __future__ import annotations

from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """There was no result."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """There was an exception."""
    return error is not None


def exception_type_predicate(error: BaseException, expected_error_type: type[BaseException]) -> bool:
    """There was an exception of this type."""
    return isinstance(error, expected_error_type)
