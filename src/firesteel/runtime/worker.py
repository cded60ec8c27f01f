"""What a worker process keeps between tasks: loaded programs and open chains.

Any idle process of an executor may get the next epoch of a subtask. A chain is built and opened at most once
for each (attempt, subtask, process) and then kept, as are the caches of its state.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import EngineError
from firesteel.common.key_groups import key_group_range
from firesteel.program.operator_kinds import kind_of
from firesteel.program.operators import OperatorSpec
from firesteel.program.sinks import SupportsWriterState
from firesteel.runtime.batch import Batch
from firesteel.runtime.chain import Chain
from firesteel.runtime.functions import keeps_operator_state
from firesteel.runtime.gate import Gate
from firesteel.runtime.kinds import adopt_kinds
from firesteel.runtime.latency import LatencyMarkers, latency_interval_ms
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.program import (
    JobProgram,
    LevelDescriptor,
    OperatorProgram,
    ShippedProgram,
    VertexProgram,
    WorkerFiles,
    program_name,
)
from firesteel.runtime.stopwatch import Stopwatch
from firesteel.runtime.task_clock import TaskClock
from firesteel.runtime.turns import Turns
from firesteel.runtime.user_code import UserCodeError
from firesteel.runtime.user_logs import listen, log_level
from firesteel.state.backend import SubtaskState
from firesteel.state.backends import state_limits
from firesteel.state.files import StateFiles
from firesteel.state.local_copies import local_copies
from firesteel.storage.bounded_calls import bound_calls

_GC_YOUNG: Final = 50_000  # container objects between two looks at the youngest generation
_OPENS_BETWEEN_COLLECTIONS: Final = 16
_FUNCTIONS_DEPTH: Final = 1_000  # calls, as Python has it by default
# Between one operator and the next: process, emit, and those of a function. A short chain needs no more room.
_FRAMES: Final = 4
_SHORT: Final = 20


_dedicated = False
_processes: int | None = None  # that have subtasks of their own, this one too; None: each may have all
_depth_before: int | None = None  # of calls, while programs with long chains need more
_opened = 0
_home: str | None = None  # the directory that the process began in

_programs: dict[str, ShippedProgram] = {}
_levels: dict[tuple[str, int, int, int, str], OpenLevel] = {}
_swept: tuple[str, int, str, tuple[str, ...]] | None = None  # what ``_levels`` was last looked through for


@dataclass(slots=True)
class OpenLevel:
    """The chains of one subtask of one level, and the gates by edge."""

    chains: list[Chain]
    gates: dict[int, Gate]
    watch: Stopwatch
    directory: str | None = None  # to work in
    latency: LatencyMarkers | None = None  # None: nobody asks for it
    states_of_job: int = 0
    sources: list[tuple[str, SourceOperator]] = field(init=False)
    vertex_of: dict[int, str] = field(init=False)  # of the gate of an edge
    turns: dict[int, Turns] = field(init=False)  # by edge, where inputs are read in turn

    def __post_init__(self) -> None:
        operators = (item for chain in self.chains for item in chain.operators.items())
        self.sources = [(uid, found) for uid, found in operators if isinstance(found, SourceOperator)]
        self.turns = {edge: turns for chain in self.chains for edge, turns in chain.turns.items()}
        self.vertex_of = {edge: chain.vertex.id for chain in self.chains for edge in chain.gates}


def acquire_level(descriptor: LevelDescriptor, subtask: int, *, for_good: bool = False) -> OpenLevel:
    """The open chains of (job, attempt, level, subtask) in this process; made when they are not there.

    :param for_good: no other process will work for the subtask as long as this one does.
    """
    _forget_ended_jobs(descriptor)
    key = (descriptor.job_id, descriptor.attempt, descriptor.level, subtask, _place(descriptor))
    level = _levels.get(key)
    if level is None:
        program, placed = _load_program(descriptor)
        configuration = Configuration.from_dict(program.settings)
        bound_calls(configuration)
        if _dedicated:
            listen(log_level(configuration))
            _enter(placed.directory)
        level = _levels[key] = _open_level(program, placed, descriptor, subtask)
        level.directory = placed.directory
        if _dedicated:
            _settle_heap()
    elif _dedicated:
        _enter(level.directory)
    _share_memory(level, for_good=for_good)
    return level


def _share_memory(level: OpenLevel, *, for_good: bool) -> None:
    """Let the states of a level have their part of what those of all processes of the executor may take."""
    states = [chain.state for chain in level.chains if chain.state is not None]
    managed = states[0].limits.managed if states else None
    if managed is None:
        return
    if for_good:
        share = managed.share(1, level.states_of_job)
    else:
        there = sum(chain.state is not None for other in _levels.values() for chain in other.chains)
        share = managed.share(_processes or managed.processes, there)
    for state in states:
        state.limit_memory(share)


def _enter(directory: str | None) -> None:
    """Work in *directory*, where the archives of the program are; None: where the process began."""
    global _home
    here = os.getcwd()
    _home = _home or here
    if here != (directory or _home):
        os.chdir(directory or _home)


def dedicate_process() -> None:
    """This process does nothing but run tasks, so its garbage collector may be set for them. A process of the
    user's own, where tests run jobs, is left as it is."""
    global _dedicated
    if not _dedicated:
        _dedicated = True
        # A KeyboardInterrupt in this process is then the user's code's own, and not a signal.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        empty_standard_input()


def is_dedicated() -> bool:
    """Whether this is a worker process of the engine."""
    return _dedicated


def keep_subtasks(processes: int, moved: Collection[tuple[str, int]]) -> None:
    """No other process works for the subtasks that this one works for.

    :param processes: how many of this host share them.
    :param moved: subtasks (job, number) that another one works for now: they are closed here.
    """
    global _processes
    _processes = processes
    for key in [key for key in _levels if moved and (key[0], key[3]) in moved]:
        _close(_levels.pop(key))


def empty_standard_input() -> None:
    """Users' code that reads it finds its end. Otherwise it may be a pipe from the JVM, which has none."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _settle_heap() -> None:
    """Take what stays (modules, programs, caches) out of the garbage collector's sight.

    PySpark collects after each task: 30 ms of CPU for the modules alone, and more with every cached key. And
    a task makes and drops records by the thousand, which the default thresholds mistake for a reason to look.
    """
    global _opened
    if _opened % _OPENS_BETWEEN_COLLECTIONS == 0:
        if _opened:
            gc.unfreeze()  # chains that were forgotten meanwhile are cycles: they are found now
        gc.collect()
    _opened += 1
    gc.freeze()
    gc.set_threshold(_GC_YOUNG, 20, 50)


def _forget_ended_jobs(descriptor: LevelDescriptor) -> None:
    """Close what belongs to jobs that are over, to earlier attempts of this one, or to another host."""
    global _swept
    own, attempt, place = descriptor.job_id, descriptor.attempt, _place(descriptor)
    if _swept == (own, attempt, place, descriptor.live_jobs):
        return  # nothing was opened since that belongs to anything else
    _swept = own, attempt, place, descriptor.live_jobs
    live = {own, *descriptor.live_jobs}
    for key in [k for k in _levels if k[0] not in live or (k[0] == own and (k[1], k[4]) != (attempt, place))]:
        _close(_levels.pop(key))


def _close(level: OpenLevel) -> None:
    for chain in level.chains:
        with suppress(UserCodeError):  # best effort: the job is over, and nobody is there to hear it
            chain.close()
        if chain.state is not None:
            chain.state.close()


def _place(descriptor: LevelDescriptor) -> str:
    """Host and driver: a job that another driver goes on with keeps its id, and has a new state directory."""
    return f"{descriptor.local_dir} {descriptor.state_dir}"


def _load_program(descriptor: LevelDescriptor) -> tuple[JobProgram, WorkerFiles]:
    """A copy of its own for each level and subtask: function objects must not be shared between subtasks."""
    shipped = _programs.get(descriptor.program)
    if shipped is None:
        shipped = pickle.loads(_read_program(descriptor))
        _prepare_process(shipped)
        _programs.clear()  # the code of one job; reading another again is cheap
        _programs[descriptor.program] = shipped
    program: JobProgram = pickle.loads(shipped.levels[descriptor.level])
    return program, shipped.placed


def _read_program(descriptor: LevelDescriptor) -> bytes:
    """The blob of the job. Nothing of it is unpacked before it is known to be what was shipped.

    :raises EngineError: it is not.
    """
    files = StateFiles(descriptor.state_dir)
    blob = files.read(descriptor.program)
    if program_name(blob) != descriptor.program:
        raise EngineError(
            "The shipped program of the job is damaged: its checksum is wrong.",
            detail=files.path_of(descriptor.program),
            hint="start the job again: its program is shipped anew",
        )
    return blob


def _prepare_process(shipped: ShippedProgram) -> None:
    packages = [os.path.abspath(path) for path in shipped.placed.paths]
    sys.path[:0] = [path for path in packages if path not in sys.path]
    add_paths(shipped.paths)
    for setup in shipped.bootstrap:  # what must come before the user's code
        pickle.loads(setup)()
    import_submodules(shipped.submodules)
    adopt_main_classes(pickle.loads(shipped.main_classes))
    adopt_kinds(pickle.loads(shipped.kinds))


def add_paths(paths: Sequence[str]) -> None:
    """Modules beside the script can be imported."""
    sys.path += [path for path in paths if path not in sys.path and os.path.isdir(path)]


def import_submodules(names: Sequence[str]) -> None:
    """Import what the script has imported as ``import a.b``: its functions refer to ``a`` alone."""
    for name in names:
        with suppress(ImportError):  # one that only the driver needs; a function that misses it says so
            importlib.import_module(name)


def adopt_main_classes(classes: Mapping[str, Any]) -> None:
    """Records of classes of the user's script are pickled by reference: they look for them here."""
    main = sys.modules["__main__"]
    for name, cls in classes.items():
        if getattr(main, name, None) is not cls:
            setattr(main, name, cls)


def _open_level(
    program: JobProgram, placed: WorkerFiles, descriptor: LevelDescriptor, subtask: int
) -> OpenLevel:
    clock, watch = TaskClock(descriptor.now_ms), Stopwatch()
    chains = [
        _build_chain(program, placed, vertex, descriptor, subtask, clock, watch)
        for vertex in program.vertices
        if subtask < vertex.parallelism
    ]
    _make_room(sum(len(chain.operators) for chain in chains))
    level = OpenLevel(chains, {e: gate for chain in chains for e, gate in chain.gates.items()}, watch)
    level.states_of_job = program.states
    gate_vertex = level.vertex_of
    for chain in chains:  # forward edges between vertices of this level: handed over in memory
        for edge in chain.vertex.outputs:
            if edge.local:
                gate = level.gates[edge.edge]
                channel = edge.edge << 16 | subtask
                chain.local_edges[edge.edge] = _handed_over(gate, channel, watch, gate_vertex[edge.edge])
    configuration = Configuration.from_dict(program.settings)
    if latency_interval_ms(configuration, batch=program.batch):
        level.latency = LatencyMarkers(chains, subtask, configuration)
    return level


def _handed_over(gate: Gate, channel: int, watch: Stopwatch, vertex: str) -> Callable[[Batch], None]:
    """What takes the batches of a forward edge inside the level."""

    def consume(batch: Batch) -> None:
        before = watch.switch(vertex)
        gate.receive(channel, batch)
        watch.switch(before)  # not after an error: then the epoch is over

    return consume


def _make_room(operators: int) -> None:
    """Raise the recursion limit for a chain of *operators* operators: each calls the next one, and the
    functions at its end need the depth that they would have in a short program."""
    global _depth_before
    needed = _FUNCTIONS_DEPTH + _FRAMES * operators
    if operators > _SHORT and needed > sys.getrecursionlimit():
        _depth_before = _depth_before or sys.getrecursionlimit()
        sys.setrecursionlimit(needed)


def _build_chain(
    program: JobProgram,
    placed: WorkerFiles,
    vertex: VertexProgram,
    descriptor: LevelDescriptor,
    subtask: int,
    clock: TaskClock,
    watch: Stopwatch,
) -> Chain:
    context = SubtaskContext(
        job_id=descriptor.job_id,
        job_name=program.job_name,
        vertex_name=vertex.name,
        subtask=subtask,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        attempt=descriptor.attempt,
        batch_mode=program.batch,
        state_dir=descriptor.state_dir,
        settings=program.settings,
        clock=clock,
        watch=watch,
        vertex_id=vertex.id,
        watermark_interval_ms=program.watermark_interval_ms,
        cached_files={name: os.path.abspath(path) for name, path in placed.cached},
    )
    state = None
    if any(map(_has_state, vertex.operators)):
        configuration = Configuration.from_dict(program.settings)
        copies = local_copies(configuration, descriptor.local_dir, descriptor.job_id)
        state = SubtaskState(
            job_id=descriptor.job_id,
            attempt=descriptor.attempt,
            vertex_id=vertex.id,
            subtask=subtask,
            max_parallelism=vertex.max_parallelism,
            key_groups=key_group_range(vertex.max_parallelism, vertex.parallelism, subtask),
            files=StateFiles(descriptor.state_dir, copies),
            local_dir=descriptor.local_dir,
            limits=state_limits(configuration, batch=program.batch),
        )
    return Chain(vertex, context, state)


def _has_state(operator: OperatorProgram) -> bool:
    spec = operator.spec
    if operator.keyed or isinstance(spec, SupportsWriterState):
        return True
    of_kind = isinstance(spec, OperatorSpec) and kind_of(spec).operator_state
    return of_kind or keeps_operator_state(getattr(spec, "function", None))


def forget_everything() -> None:
    """Be as a new process: for tests that move subtasks between processes."""
    global _depth_before
    _programs.clear()
    _levels.clear()
    if _depth_before is not None:
        sys.setrecursionlimit(_depth_before)
        _depth_before = None


def close_everything() -> None:
    """The same, and what is open is closed: the system does that for a process that ends."""
    for level in list(_levels.values()):
        _close(level)
    forget_everything()


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """What one worker process keeps between tasks, when one real process plays several of them."""

    programs: dict[str, ShippedProgram] = field(default_factory=dict)
    levels: dict[tuple[str, int, int, int, str], OpenLevel] = field(default_factory=dict)


_one_at_a_time = threading.RLock()


@contextmanager
def as_process(memory: ProcessMemory) -> Iterator[None]:
    """Run tasks as the worker process that ``memory`` belongs to: for tests outside of workers."""
    global _programs, _levels, _swept
    with _one_at_a_time:
        before = _programs, _levels
        _programs, _levels, _swept = memory.programs, memory.levels, None
        try:
            yield
        finally:
            _programs, _levels = before
            _swept = None
