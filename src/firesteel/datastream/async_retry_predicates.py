"""Predicates for retry strategies of async functions."""

from __future__ import annotations

from firesteel.program.functions.retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
