"""Who runs the statements of a client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from firesteel.table._text_results import TextResult

__all__ = ["Executor"]


class Executor(Protocol):
    """A session. Ctrl-C may end any method by KeyboardInterrupt; the session stays."""

    def execute(self, sql: str) -> TextResult:
        """Run a statement; of a query its first rows need not be there yet.

        :raises FiresteelError: it cannot be read, means nothing, or is refused.
        """

    def setting(self, key: str) -> str | None:
        """The value of an option, where one is set."""

    def candidates(self, sql: str, position: int) -> Sequence[str]:
        """What may stand at a place of a statement that is being written."""

    def wait(self, job_id: str) -> None:
        """Wait for the end of a job.

        :raises JobExecutionError: it has failed.
        """

    def jobs_that_end_with_it(self) -> Sequence[str]:
        """The ids of jobs that run and do not outlive the session."""

    def close(self) -> None:
        """End the session."""
