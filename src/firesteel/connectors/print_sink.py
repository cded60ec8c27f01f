"""Sink that prints a stream (Flink: ``PrintSink``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from firesteel.common._map_all import map_all
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._staging import Seen, stage
from firesteel.formats.java_format import formatter
from firesteel.formats.text import utf8
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)


@dataclass(frozen=True, slots=True)
class PrintSink(Sink):
    """Writes one line per record to the driver's standard output (or standard error), formatted as in Flink.

    With more than one subtask a line begins with the number of its subtask, counted from 1; with an
    ``identifier`` it begins with that: ``2> a``, ``out> a``, ``out:2> a``. The lines of an epoch appear when
    it is committed; those of one subtask are in order. At least once: a new driver may print an epoch again.
    """

    type_info: TypeInformation | None = None
    identifier: str = ""
    to_stderr: bool = False

    @property
    def description(self) -> str:
        return f"Print to {'Std. Err' if self.to_stderr else 'Std. Out'}"

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.AT_LEAST_ONCE

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _PrintWriter(self, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _PrintCommitter(self.to_stderr)


def prefix_of(identifier: str, subtask_index: int, parallelism: int) -> str:
    """Return the prefix of each line of a subtask."""
    parts = [identifier] if identifier else []
    if parallelism > 1:
        parts.append(str(subtask_index + 1))
    return f"{':'.join(parts)}> " if parts else ""


class _PrintWriter(SinkWriter):
    def __init__(self, sink: PrintSink, context: WriterContext) -> None:
        self._context = context
        self._format = formatter(sink.type_info)
        self._prefix = prefix_of(sink.identifier, context.subtask_index, context.parallelism)
        self._lines: list[str] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:  # hot
        self._lines += map_all(self._format, values)

    def prepare_commit(self) -> list[Any]:
        if not self._lines:
            return []
        end_of_line = f"\n{self._prefix}"
        text = f"{self._prefix}{end_of_line.join(self._lines)}\n"
        self._lines = []
        return [stage(utf8(text), self._context)]


def _write(stream: TextIO, text: str) -> None:
    """Write text. Characters that the stream's encoding lacks become ``?``, as in Java."""
    try:
        stream.write(text)
    except UnicodeEncodeError as error:  # nothing of it has been written
        stream.write(text.encode(error.encoding, "replace").decode(error.encoding))


class _PrintCommitter(Committer):
    waits_for_checkpoint = False  # console output should appear immediately
    is_watched = True

    def __init__(self, to_stderr: bool) -> None:
        self._to_stderr = to_stderr
        self._seen = Seen()

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        stream = sys.stderr if self._to_stderr else sys.stdout
        if stream is None or stream.closed:
            raise self._gone("is closed")
        try:
            for request in requests:
                committable = request.origin
                if self._seen.is_new(committable):
                    _write(stream, committable.payload.load().decode())
                    self._seen.add(committable)
            stream.flush()
        except BrokenPipeError as error:
            raise self._gone("has no reader any more") from error

    def _gone(self, why: str) -> ProgramError:
        """Return an error that ends the job, which would otherwise be restarted forever with no one to read
        it."""
        return ProgramError(
            f"The standard {'error' if self._to_stderr else 'output'} {why}.",
            hint="redirect it to a file, or to /dev/null if nobody reads it",
        )
