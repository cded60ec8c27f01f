"""Enumerators on the driver: what one raises fails the job with the name of its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from firesteel.common.errors import FiresteelError, JobExecutionError
from firesteel.program.sources import EnumeratorContext, ReadRange, Source, Split, SplitEnumerator
from firesteel.runtime.error_report import summary_of
from firesteel.runtime.user_code import raised

R = TypeVar("R")


class NamedEnumerator(SplitEnumerator):
    """The enumerator of *source*.

    An error of ours passes; anything else, a ``sys.exit()`` too, becomes a JobExecutionError with it as the
    cause: the thread of the job must not end by it, and the restart strategy decides.
    """

    def __init__(self, source: Source, context: EnumeratorContext, name: str, uid: str) -> None:
        self._name = name
        self._uid = uid
        self._enumerator = self._call(source.create_enumerator, context)

    def _call(self, method: Callable[..., R], *arguments: Any) -> R:
        try:
            return method(*arguments)
        except FiresteelError:
            raise
        except BaseException as e:
            error = raised(e)
            raise JobExecutionError(
                f"The enumerator of source {self._name!r} failed: {summary_of(error)}",
                operator=self._name,
                uid=self._uid,
            ) from error

    def open(self) -> None:
        self._call(self._enumerator.open)

    def discover(self, now_ms: int) -> list[Split]:
        return self._call(lambda: list(self._enumerator.discover(now_ms)))

    @property
    def finished(self) -> bool:
        return self._call(lambda: self._enumerator.finished)

    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        return self._call(self._enumerator.plan, split, position, max_records, max_bytes, now_ms)

    def hand_out(self, split: Split, position: Any) -> Split:
        return self._call(self._enumerator.hand_out, split, position)

    def came_to(self, split: Split, position: Any) -> None:
        self._call(self._enumerator.came_to, split, position)

    def next_data_ms(self, now_ms: int) -> int | None:
        return self._call(self._enumerator.next_data_ms, now_ms)

    def split_ended(self, split: Split) -> None:
        self._call(self._enumerator.split_ended, split)

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        self._call(self._enumerator.checkpoint_completed, positions)

    def pending_records(self) -> Mapping[str, int]:
        return self._call(self._enumerator.pending_records)

    def snapshot(self) -> Any:
        return self._call(self._enumerator.snapshot)

    def restore(self, state: Any) -> None:
        self._call(self._enumerator.restore, state)

    def close(self) -> None:
        self._call(self._enumerator.close)
