"""A program as it travels from the client that has built it to the process that runs its job."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from firesteel.common.clock import Clock
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.connectors.collect import CollectSink
from firesteel.jobmanager.shipping import opened, parcel
from firesteel.program.execution import Environment
from firesteel.program.execution_mode import RuntimeExecutionMode
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.version import __version__

T = TypeVar("T")
_DEPTH: Final = 200_000  # pickle goes from a sink to its sources: some calls for each operator between
_STACK: Final = 512 << 20


class _Blob(msgspec.Struct, frozen=True):
    """What can be looked at before anything of the user's is loaded."""

    python: tuple[int, int]
    firesteel: str
    bootstrap: tuple[bytes, ...]
    parcel: bytes


@dataclass(slots=True)
class ShippedProgram:
    """Implements ``Environment``: the transformations, and what translation needs of that of the client."""

    transformations: Sequence[Transformation]
    parallelism: int
    max_parallelism: int
    mode: RuntimeExecutionMode
    chaining: bool
    chaining_different: bool
    configuration: Configuration = field(default_factory=Configuration)
    clock: Clock | None = None
    spark: Any = None

    def get_parallelism(self) -> int:
        return self.parallelism

    def get_max_parallelism(self) -> int:
        return self.max_parallelism

    def get_runtime_mode(self) -> RuntimeExecutionMode:
        return self.mode

    def is_chaining_enabled(self) -> bool:
        return self.chaining

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        return self.chaining_different

    def _add(self, transformation: Transformation) -> NoReturn:
        raise UnsupportedFeatureError("A program that was shipped is complete")

    def _take_program(self) -> Sequence[Transformation]:
        return self.transformations

    @property
    def collecting(self) -> tuple[CollectSink, ...]:
        return collecting(self.transformations)


def collecting(transformations: Sequence[Transformation]) -> tuple[CollectSink, ...]:
    """The sinks whose records a client fetches."""
    sinks = [t.sink for t in transformations if isinstance(t, SinkTransformation)]
    return tuple(sink for sink in sinks if isinstance(sink, CollectSink))


def pack(env: Environment, transformations: Sequence[Transformation], bootstrap: Sequence[bytes]) -> bytes:
    """The program for another process."""
    program = ShippedProgram(
        tuple(transformations),
        env.get_parallelism(),
        env.get_max_parallelism(),
        env.get_runtime_mode(),
        env.is_chaining_enabled(),
        env.is_chaining_of_operators_with_different_max_parallelism_enabled(),
    )
    body = with_room(lambda: parcel(program, paths=()))
    return msgspec.msgpack.encode(_Blob(sys.version_info[:2], __version__, tuple(bootstrap), body))


def unpack(blob: bytes, run_bootstrap: Callable[[bytes], None]) -> ShippedProgram:
    """The program, in the process of its job.

    :param run_bootstrap: called with what must come before the user's code.
    :raises ConfigurationError: it was packed by another Python, or another Firesteel.
    """
    found = msgspec.msgpack.decode(blob, type=_Blob)
    here = (sys.version_info[:2], __version__)
    if (found.python, found.firesteel) != here:
        raise ConfigurationError(
            "The client has another Python, or another Firesteel, than the process of the job.",
            detail=f"Python {'.'.join(map(str, found.python))} with Firesteel {found.firesteel}; the job has "
            f"Python {'.'.join(map(str, here[0]))} with Firesteel {here[1]} ({sys.executable})",
            hint="run the client in such an environment, or name one for the job by python.client.executable",
        )
    for setup in found.bootstrap:
        run_bootstrap(setup)
    program: ShippedProgram = with_room(lambda: opened(found.parcel))
    return program


def with_room(work: Callable[[], T]) -> T:
    """Do it where calls may go deep: a program may be a chain of thousands of operators."""
    answer: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(work())
        except BaseException as error:
            failure.append(error)

    depth, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(depth, _DEPTH))
    try:
        thread = threading.Thread(target=run, name="firesteel-packing")
        thread.start()
        threading.stack_size(size)
        thread.join()
    finally:
        sys.setrecursionlimit(depth)
    if failure:
        raise failure[0]
    return answer[0]
