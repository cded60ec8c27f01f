"""Programs that are stopped, killed and gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor
from firesteel.jobmanager.gateway import JobGateway
from firesteel.program.execution import get_executor
from tests.runtime.support import environment

ANY = Types.PICKLED_BYTE_ARRAY()
INTERVAL = "execution.checkpointing.interval"
DIRECTORY = "execution.checkpointing.dir"
RECOVERY = "execution.state-recovery.path"
RETENTION = "execution.checkpointing.externalized-checkpoint-retention"


class Count(KeyedProcessFunction):
    """(key, how often it came), and all of a key's records when its timer of event time fires."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", ANY))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.add(value)
        if count == 1:
            ctx.timer_service().register_event_time_timer(1 << 40)
        yield ctx.get_current_key(), count

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "all", ctx.get_current_key(), tuple(self.seen.get())


def env_with(
    parallelism: int, directory: Path | None = None, *, clock: Any = None, **options: str
) -> StreamExecutionEnvironment:
    """Checkpoints every 10 s (of the clock) in ``directory``; ``options`` with their dots."""
    if directory is not None:
        options = {INTERVAL: "10 s", DIRECTORY: str(directory), **options}
    return environment(parallelism, clock=clock, **options)


def submit(env: StreamExecutionEnvironment, name: str = "job") -> JobGateway:
    """The program's JobGateway; the job runs."""
    return get_executor().submit(env, env._take_program(), name).job  # type: ignore[no-any-return]


def files_below(directory: Path, pattern: str = "*") -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob(pattern) if p.is_file())


def raising(error: Exception) -> Any:
    """What takes the place of a method that fails."""

    def raises(*arguments: Any) -> None:
        raise error

    return raises
