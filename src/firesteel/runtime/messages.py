"""What the driver and the tasks of a *stretch* tell each other, by files in the job's state directory.

The driver writes numbered orders, which the source tasks follow. A task writes its answers for an epoch, and
what it fails with: Spark may name the lost connection of a neighbour instead.
"""

from __future__ import annotations

import contextlib
import pickle
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from firesteel.program.sources import ReadRange
from firesteel.runtime.checkpoint_news import NO_NEWS, CheckpointNews
from firesteel.runtime.flow_control import Totals
from firesteel.runtime.operators.planned_ranges import ReadSoFar
from firesteel.runtime.program import Ack, UserError, UserLogs
from firesteel.runtime.task_loop import Splits
from firesteel.runtime.task_report import TaskReport
from firesteel.state.files import StateFiles
from firesteel.storage.filesystems import resolve

#: Operator -> split -> how far: of ranges that the driver has planned.
Read: TypeAlias = Mapping[str, Mapping[str, ReadSoFar]]

#: How many times as seldom a task looks for messages that has nothing to do.
IDLE_LOOK: Final = 5
_LIVES: Final = "lives"  # a file that is there as long as the stretch
_CHECKSUM: Final = Struct("<II")  # and how many bytes it is of


class Cut(NamedTuple):
    """An epoch ends at an instant of the wall clock, in all source tasks.

    :param stop: the stretch ends with it.
    :param drain: and the input, too.
    :param stays: the tasks stay until they are told to leave, and read nothing: they are to hear of the
        checkpoint that covers the epoch.
    :param news: of checkpoints, for all tasks; the same in all orders for one epoch that tasks may follow.
    """

    epoch: int
    at_ms: float
    stop: bool = False
    drain: bool = False
    stays: bool = False
    news: CheckpointNews = NO_NEWS


@dataclass(frozen=True, slots=True)
class Order:
    """What source tasks are to do. Orders follow each other; each changes what it names.

    :param leave: end at once; what was done since the last cut does not count.
    :param splits: to be read, too: (vertex, subtask) -> operator -> splits.
    :param ranges: to be read, too: (vertex, subtask) -> operator -> ranges of its splits.
    :param complete: the sources that get no more splits; None: as before.
    :param limits: source -> the watermark above which its splits wait; None: as before.
    :param covered: a checkpoint is complete that holds these positions: source -> split -> position.
    """

    cut: Cut | None = None
    leave: bool = False
    splits: Mapping[tuple[str, int], Mapping[str, Splits]] = field(default_factory=dict)
    ranges: Mapping[tuple[str, int], Mapping[str, Sequence[ReadRange]]] = field(default_factory=dict)
    complete: frozenset[str] | None = None
    limits: Mapping[str, int | None] | None = None
    covered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Answer(NamedTuple):
    """Of one task, for one epoch.

    :param ending_ms: how long it has computed to end the epoch, and processed nothing.
    """

    acks: list[Ack]
    logs: UserLogs | None
    ending_ms: float
    report: TaskReport | None = None


class Messages:
    """The files of a stretch. Each appears whole, and only progress is written more than once."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._files = StateFiles(directory)

    @property
    def look_ms(self) -> float:
        """How often it is worth while to look for a new message."""
        return 500.0 if "://" in self._directory else 20.0

    @property
    def idle_look_ms(self) -> float:
        """How often a task looks that has had nothing to do for a while: to wake up is what it costs."""
        return IDLE_LOOK * self.look_ms

    def _write(self, name: str, content: Any) -> None:
        self._files.write_once(name, pickle.dumps(content, 5))

    def _read(self, name: str) -> Any:
        """The content; None: it is not there yet."""
        found = self._files.read_new(name)
        return None if found is None else pickle.loads(found)

    def begin(self) -> None:
        """The stretch begins: it is over when the messages are removed."""
        self._write(_LIVES, None)

    @property
    def are_removed(self) -> bool:
        """Whether the driver is done with the stretch."""
        return self._files.read_new(_LIVES) is None

    def give_order(self, number: int, order: Order) -> None:
        self._write(f"order-{number}", order)

    def order(self, number: int) -> Order | None:
        found: Order | None = self._read(f"order-{number}")
        return found

    def forget_order(self, number: int) -> None:
        """All tasks that follow orders have seen it."""
        self._files.delete(f"order-{number}")

    def answer(self, epoch: int, level: int, subtask: int, answer: Answer) -> None:
        self._write(f"answer-{epoch}-{level}-{subtask}", answer)

    def answer_of(self, epoch: int, level: int, subtask: int) -> Answer | None:
        found: Answer | None = self._read(f"answer-{epoch}-{level}-{subtask}")
        return found

    def forget_answer(self, epoch: int, level: int, subtask: int) -> None:
        """It was read, and is not needed any more."""
        self._files.delete(f"answer-{epoch}-{level}-{subtask}")

    def say_progress(self, level: int, subtask: int, received: Totals) -> None:
        """Instead of what the task has said before."""
        self._say(f"progress-{level}-{subtask}", dict(received))

    def progress_of(self, level: int, subtask: int) -> Totals | None:
        """None: it cannot be read just now, or the task has said nothing."""
        found: Totals | None = self._said(f"progress-{level}-{subtask}")
        return found

    def say_read(self, subtask: int, read: Read) -> None:
        """How far a source task is, instead of what it has said before."""
        self._say(f"read-{subtask}", read)

    def read_of(self, subtask: int) -> Read | None:
        """None: it cannot be read just now, or the task has said nothing."""
        found: Read | None = self._said(f"read-{subtask}")
        return found

    def _say(self, name: str, content: Any) -> None:
        """Write what is written again and again."""
        data = pickle.dumps(content, 5)
        self._files.overwrite(name, _CHECKSUM.pack(zlib.crc32(data), len(data)) + data)

    def _said(self, name: str) -> Any:
        found = self._files.read_new(name)
        if found is None or len(found) < _CHECKSUM.size:
            return None
        checksum, size = _CHECKSUM.unpack_from(found)
        content = found[_CHECKSUM.size : _CHECKSUM.size + size]
        return pickle.loads(content) if zlib.crc32(content) == checksum else None

    def fail(self, level: int, subtask: int, error: UserError) -> None:
        self._write(f"error-{level}-{subtask}", error)

    def error_of(self, level: int, subtask: int) -> UserError | None:
        found: UserError | None = self._read(f"error-{level}-{subtask}")
        return found

    def remove(self) -> None:
        """The stretch is over, and nobody reads its messages any more."""
        storage, path = resolve(self._directory)
        with contextlib.suppress(OSError):
            storage.delete_tree(path)
