"""How the tasks of a stretch work, and how what they leave is named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Records that come from another task have waited for each other in its buffer, and come in batches: one that
#: is on its way to the writer is there within this time.
_AFTER_A_BUFFER_MS: Final = 0.2


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """How the tasks of a level work.

    :param stretch: names the run of the tasks, among all that the job ever has.
    :param producers: how many tasks the level before has; 0: this is the first one.
    :param consumers: how many the next one has; 0: this is the last one.
    :param buffer_timeout_ms: how long a record may wait in a buffer for others; 0: not at all; None: until
        the buffer is full.
    """

    stretch: str
    producers: int
    consumers: int
    buffer_timeout_ms: float | None = 5

    def flushed_ms(self, now_ms: float) -> float:
        """When the buffers count as flushed that were flushed at this instant: at the last multiple of their
        timeout. So tasks of a host flush together, and who receives from several of them wakes up once."""
        return now_ms - now_ms % self.buffer_timeout_ms if self.buffer_timeout_ms else now_ms

    @property
    def writer_timeout_ms(self) -> float | None:
        """How long a record may wait in the writer of a sink."""
        if self.producers == 0 or self.buffer_timeout_ms is None:
            return self.buffer_timeout_ms
        return min(_AFTER_A_BUFFER_MS, self.buffer_timeout_ms)


def epoch_name(stretch: str, epoch: int) -> str:
    """The manifest id of an epoch: worker and driver advance the lines of the state by the same name."""
    return f"{stretch}-{epoch}"


def directory_of(state_dir: str, stretch: str) -> str:
    """Where driver and tasks leave messages for each other."""
    return f"{state_dir}/stretch-{stretch}"


def delta_file(stretch: str, epoch: int, vertex: str, subtask: int) -> str:
    """Where a small change of the state of a subtask is, until the line has it."""
    return f"delta-{epoch_name(stretch, epoch)}-{vertex}-{subtask}"
