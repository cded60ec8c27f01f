"""The connector interface: what a source and a sink must offer the engine.

A *source* is an enumerator on the driver, which finds splits, and a reader in the task, which reads a
range of one split (Flink: FLIP-27 sources). A *sink* is a writer in the task and, where its output becomes
visible only when it is committed, a committer on the driver: see ``sinks.py``.

Reading a range must be repeatable: the same split, position and limit always give the same records, because
Spark may run a task again, on another host, or twice at once. In real time a reader may poll instead.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from firesteel.common.typeinfo import TypeInformation
from firesteel.program.bad_records import BadRecord
from firesteel.program.promises import SourcePromise
from firesteel.program.quick_pickle import quick_pickle
from firesteel.program.sinks import (
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    ElementContext,
    Sink,
    SinkWriter,
    SupportsWriterState,
    WriterContext,
)
from firesteel.storage.records import record

__all__ = [
    "BadRecord",
    "Boundedness",
    "Chunk",
    "CommitRequest",
    "Committable",
    "Committer",
    "CommitterContext",
    "ElementContext",
    "EnumeratorContext",
    "PollingReader",
    "ReadRange",
    "Sink",
    "SinkWriter",
    "Source",
    "SourcePromise",
    "SourceReader",
    "Split",
    "SplitEnumerator",
    "SupportsWriterState",
    "WriterContext",
]


class Boundedness(enum.Enum):
    BOUNDED = "BOUNDED"
    CONTINUOUS_UNBOUNDED = "CONTINUOUS_UNBOUNDED"


@record("split")
@quick_pickle
@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source that is read in order, by one subtask. ``payload`` is plain picklable data."""

    id: str
    payload: Any = None


@quick_pickle
@dataclass(frozen=True, slots=True)
class ReadRange:
    """What may be read next of one split, in epochs within one of them: from ``position`` on, at most
    ``max_records`` records and about ``max_bytes`` bytes, and never past ``stop`` (None: to the end of the
    split).

    ``in_turn``: the split is read to its end before the next one that is given to the same subtask; both
    end some time. Without it a subtask reads a chunk of each in turn. Where the source makes watermarks this
    is so in any case: it keeps the event times of splits apart, and they are to move together.
    """

    split: Split
    position: Any
    max_records: int
    max_bytes: int
    stop: Any = None
    in_turn: bool = False


class Chunk(NamedTuple):
    """Some records in order. ``timestamps`` None: the source knows none. ``position`` is where reading goes
    on after the last record of this chunk; ``end`` says that the split has nothing more, ever.

    ``marks`` are what the source itself knows of event time, for this split: ``(position, mark)``, in order,
    each before the record at ``position`` or after the last one; an int is a watermark, "idle" and "active"
    say whether the split takes part in the watermark. (Flink: ``ReaderOutput.emitWatermark``, ``markIdle``.)

    ``bad`` are records of this stretch that could not be read, ``ignored`` is how many more the source was
    told to leave out: see ``bad_records.py``. Both count as records of the range.
    """

    values: list[Any]
    timestamps: list[int] | None
    position: Any
    end: bool = False
    marks: Sequence[tuple[int, int | str]] = ()
    bad: Sequence[BadRecord] = ()
    ignored: int = 0

    def part(self, start: int, stop: int) -> Chunk:
        """The records from ``start`` to ``stop``. What is not of a record belongs to the first part, and only
        the last one ends the split; the position of each is that behind all."""
        values, stamps, first = self.values, self.timestamps, start if start else -1
        return Chunk(
            values[start:stop],
            stamps and stamps[start:stop],
            self.position,
            self.end and stop == len(values),
            [(at - start, mark) for at, mark in self.marks if first < at <= stop],
            () if start else self.bad,
            0 if start else self.ignored,
        )


#: Chunks that are made as they are asked for, until they are closed.
Chunks: TypeAlias = Generator[Chunk, None, None]


@dataclass(frozen=True, slots=True)
class EnumeratorContext:
    """``work_dir`` is a directory of the job that driver and workers can both reach (a path or URI);
    ``parallelism`` the number of subtasks that will read; ``checkpointing`` says whether the job makes
    checkpoints: without them ``checkpoint_completed`` is never called. ``polled``: tasks read by a
    ``PollingReader``, so ``hand_out`` is called instead of ``plan``."""

    parallelism: int
    work_dir: str
    checkpointing: bool = False
    polled: bool = False


class SplitEnumerator(ABC):
    """Lives on the driver. ``now_ms`` is the job's clock; never read another one."""

    def open(self) -> None:
        """Called once before ``discover``. Start receivers, check that paths exist."""

    @abstractmethod
    def discover(self, now_ms: int) -> list[Split]:
        """The splits not yet reported. Called before each epoch, in real time every half second; must be
        cheap when nothing is new."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """True when ``discover`` will never again report a split."""

    @abstractmethod
    def plan(
        self, split: Split, position: Any, max_records: int, max_bytes: int, now_ms: int
    ) -> ReadRange | None:
        """What may be read of ``split`` from ``position`` (None: its start) now; None when nothing is there
        yet (a rate limit, no new data). A split whose end was read is not asked again."""

    def hand_out(self, split: Split, position: Any) -> Split:
        """Return a split as a ``PollingReader`` is to get it that reads from ``position`` on. Called whenever
        tasks begin: what earlier ones have read after ``position`` is read again."""
        return split

    def next_data_ms(self, now_ms: int) -> int | None:
        """When to ask again at the latest, as an instant of the job's clock, when nothing could be planned;
        None: the engine's default polling interval."""
        return None

    def came_to(self, split: Split, position: Any) -> None:
        """An epoch is committed that has read the split up to a position."""

    def split_ended(self, split: Split) -> None:
        """An epoch is committed that has read the end of the split."""

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        """A checkpoint is complete: restarted, the job goes on at ``positions`` (split id -> position). For
        telling others: what is raised here is logged and stops nothing. (Flink:
        ``notifyCheckpointComplete``.)"""

    def pending_records(self) -> Mapping[str, int]:
        """How many records there are that were not read yet, by split id, as far as the last ``plan`` knew
        (Flink: the metrics ``pendingRecords`` and ``records-lag-max``)."""
        return {}

    def snapshot(self) -> Any:
        """State that ``restore`` needs to go on after a failure (which files were seen ...)."""
        return None

    def restore(self, state: Any) -> None: ...

    def close(self) -> None: ...


class SourceReader(ABC):
    """Lives in a worker process and may be used for many ranges and epochs: it keeps no position. Ranges of
    several splits are read in turns, a chunk of each, and a range need not be read to its end."""

    #: The type that all records have as they are read: where the stream is declared with it, nothing has to
    #: look at them again. None: not known.
    record_type: TypeInformation | None = None

    def open(self) -> None: ...

    @abstractmethod
    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        """The records of the range, in chunks of about 1,000 (at most 4,096) records. Ends early only at the
        limits of the range or the end of the split; the last chunk then has ``end`` set (it may be empty)."""

    #: Whether there is a ``polling``. If not, the driver plans range after range in real-time mode, too: a
    #: record of a silent source waits some tens of milliseconds for that.
    polls: bool = False

    #: Whether its ``polling`` is told of checkpoints.
    acknowledges: bool = False

    def polling(self) -> PollingReader:
        """What reads in real-time mode; of a reader that is open."""
        raise NotImplementedError

    def close(self) -> None: ...


class PollingReader(ABC):
    """Reads all splits of a subtask for as long as its task lives (Flink: ``SourceReader.pollNext``).

    It need not be repeatable: after a failure the job goes on from the positions of a checkpoint, and what
    was read after them is read again.
    """

    @abstractmethod
    def add_splits(self, splits: Sequence[tuple[Split, Any]]) -> None:
        """Read these, too, each after a position; None: from the start of the split."""

    @abstractmethod
    def poll(self, max_records: int, wait_ms: float, held: Collection[str]) -> Iterable[tuple[str, Chunk]]:
        """About *max_records* records that are there now, each chunk with the id of its split.

        :param wait_ms: how long to wait when there are none.
        :param held: ids of splits that have to wait for others now.
        """

    def end_epoch(self) -> Mapping[str, Any]:
        """Return positions, by split id, that count instead of those of the chunks since the last call
        (Flink: ``SourceReader.snapshotState``)."""
        return {}

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        """A checkpoint is complete that holds these positions, by split id (Flink:
        ``SourceReader.notifyCheckpointComplete``). Only called where the reader ``acknowledges``."""

    def close(self) -> None: ...


class Source(ABC):
    """A description of a source: plain configuration, picklable. Checks its options when it is built."""

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness: ...

    @property
    def max_parallelism(self) -> int | None:
        """1 for a source that cannot be read in parallel (a collection, a socket); None: no limit."""
        return None

    @property
    def description(self) -> str:
        return type(self).__name__

    @property
    def is_cheap(self) -> bool:
        """Whether a record costs microseconds: it is at hand, and no code of the user's makes it."""
        return False

    @property
    def splits_kind(self) -> str:
        """What its splits and positions are of. A source goes on from those of another one of its kind only,
        so give sources one that understand each other, and keep it where the class gets another name."""
        return type(self).__name__

    def promise(self, checkpointing: bool) -> SourcePromise:
        """Return what a job reads after a failure, when it goes back to a checkpoint or, without
        *checkpointing*, starts over. Reading is repeatable within a run in any case."""
        return SourcePromise.EXACTLY_ONCE

    def validate(self) -> None:
        """Raise ``firesteel.common.errors.FiresteelError`` for what can be known before Spark starts:
        a path that does not exist, a bad option."""

    @abstractmethod
    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator: ...

    @abstractmethod
    def create_reader(self) -> SourceReader: ...
