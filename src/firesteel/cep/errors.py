"""Errors of patterns."""

from __future__ import annotations

from firesteel.common.errors import FiresteelError, ProgramError

__all__ = ["MalformedPatternError", "SkipError", "TooManyPartialMatchesError"]


class MalformedPatternError(ProgramError):
    """A pattern that cannot be matched (Flink: ``MalformedPatternException``)."""


class SkipError(FiresteelError):
    """A match has no event to skip to, and the skip strategy says that this is an error."""


class TooManyPartialMatchesError(FiresteelError):
    """A key has more partial matches than the job allows."""
