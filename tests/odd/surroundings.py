"""Functions that change the process that they run in, and what they hold that cannot travel."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import decimal
import gc
import io
import json
import logging
import mmap
import os
import random
import sys
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from firesteel.common import Types
from firesteel.common.serialization import Encoder
from firesteel.datastream.connectors.file_system import FileSink
from firesteel.datastream.functions import MapFunction, RuntimeContext

from .core import Case, Here, area

CASES: list[Case] = []
case = area("surroundings", CASES)


def same(value: Any) -> Any:
    return value


@contextmanager
def kept() -> Iterator[None]:
    """What functions change of this process is as before afterwards."""
    directory, limit, context, switch = (
        os.getcwd(),
        sys.getrecursionlimit(),
        decimal.getcontext(),
        sys.getswitchinterval(),
    )
    standard = sys.stdin, sys.stdout, sys.stderr
    clock = time.time, time.monotonic, time.time_ns
    environment, path = dict(os.environ), list(sys.path)
    dumps, umask, errors = json.dumps, os.umask(0o022), np.geterr()
    trace, profile, hook = sys.gettrace(), sys.getprofile(), threading.excepthook
    digits = sys.get_int_max_str_digits()
    os.umask(umask)
    try:
        with warnings.catch_warnings():
            yield
    finally:
        os.chdir(directory)
        sys.setrecursionlimit(limit)
        sys.setswitchinterval(switch)
        decimal.setcontext(context)
        sys.stdin, sys.stdout, sys.stderr = standard
        time.time, time.monotonic, time.time_ns = clock
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        sys.path[:] = path
        json.dumps = dumps
        os.umask(umask)
        np.seterr(**errors)
        sys.settrace(trace)
        sys.setprofile(profile)
        threading.excepthook = hook
        sys.set_int_max_str_digits(digits)
        logging.disable(logging.NOTSET)
        gc.enable()


def changes(words: str, change: Callable[[], Any]) -> None:
    """A map calls *change* with its first record; the records go through an exchange with keys, and on."""

    def program(here: Here) -> Any:
        done: list[bool] = []

        def touch(value: int) -> int:
            if not done:
                done.append(True)
                change()
            return value

        with kept():
            stream = here.env(2).from_collection(list(range(6))).map(touch)
            keyed = stream.key_by(lambda v: f"k{v % 3}").reduce(lambda a, b: a + b)
            return sorted(keyed.execute_and_collect())

    case(words)(program)


def _close_stdout() -> None:
    sys.stdout = io.StringIO()
    sys.stdout.close()


def _leave_directory() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)


def _zone(name: str) -> None:
    os.environ["TZ"] = name
    time.tzset()


def _clock_stands() -> None:
    time.time = lambda: 0.0
    time.time_ns = lambda: 0


def _clock_goes_back() -> None:
    start = time.monotonic()
    time.monotonic = lambda: start - 1e6  # type: ignore[assignment]


def _raise_in_thread() -> None:
    threading.excepthook = lambda args: None
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()


def _fork() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _patch_json() -> None:
    json.dumps = lambda *args, **kwargs: "{}"  # type: ignore[assignment]


def _precision() -> None:
    decimal.getcontext().prec = 1


for _words, _change in {
    "a map that puts another object in the place of sys.stdout": lambda: setattr(
        sys, "stdout", io.StringIO()
    ),
    "a map that puts None in the place of sys.stdout and sys.stderr": lambda: (
        setattr(sys, "stdout", None),
        setattr(sys, "stderr", None),
    ),
    "a map that closes sys.stdout": _close_stdout,
    "a map that changes the working directory": lambda: os.chdir("/"),
    "a map that works in a directory that is gone": _leave_directory,
    "a map that leaves a thread running": lambda: threading.Thread(
        target=time.sleep, args=(1,), daemon=True
    ).start(),
    "a map whose thread raises": _raise_in_thread,
    "a map that allows 120 calls deep": lambda: sys.setrecursionlimit(
        len(__import__("inspect").stack()) + 120
    ),
    "a map that sets the precision of decimals": _precision,
    "a map that makes warnings errors": lambda: warnings.simplefilter("error"),
    "a map that makes floating-point warnings of NumPy errors": lambda: np.seterr(all="raise"),
    "a map that sets a time zone on the other side of the world": lambda: _zone("Pacific/Kiritimati"),
    "a map that sets a time zone that there is not": lambda: _zone("Nowhere/At_All"),
    "a map that empties the environment": os.environ.clear,
    "a map that lets time.time stand at 0": _clock_stands,
    "a map that lets time.monotonic stand in the past": _clock_goes_back,
    "a map that replaces json.dumps": _patch_json,
    "a map that empties sys.path": sys.path.clear,
    "a map that turns the garbage collector off": gc.disable,
    "a map that traces all calls": lambda: sys.settrace(lambda *args: None),
    "a map that switches threads all the time": lambda: sys.setswitchinterval(1e-6),
    "a map that forks, and the child ends": _fork,
    "a map that turns logging off": lambda: logging.disable(logging.CRITICAL),
    "a map that runs an event loop": lambda: asyncio.run(asyncio.sleep(0)),
    "a map that seeds random": lambda: random.seed(1),
    "a map that takes all rights from new files": lambda: os.umask(0o777),
    "a map that allows no number of more than 640 digits": lambda: sys.set_int_max_str_digits(640),
}.items():
    changes(_words, _change)


@case("a map that runs a job of its own")
def _(here: Here) -> Any:
    def inner(value: int) -> int:
        return sum(here.of(value, value).execute_and_collect())

    return here.of(1, 2).map(inner)


@case("a map that uses the environment of its program")
def _(here: Here) -> Any:
    env = here.env()
    return env.from_collection([1]).map(lambda v: env.from_collection([v]))


@case("a map that uses the stream that it maps")
def _(here: Here) -> Any:
    stream = here.of(1)
    return stream.map(lambda v: stream)


@case("a program that changes the working directory before it is executed, with a relative output")
def _(here: Here) -> Any:
    (here.path / "a").mkdir()
    (here.path / "b").mkdir()
    with kept():
        os.chdir(here.path / "a")
        env = here.env()
        sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
        env.from_collection(["x"], Types.STRING()).sink_to(sink)
        os.chdir(here.path / "b")
        env.execute()
    return sorted(str(path.relative_to(here.path).parts[:2]) for path in here.path.rglob("part-*"))


class Holds(MapFunction):
    """A function that has something."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def map(self, value: Any) -> Any:
        return type(self.made).__name__


class NoState(MapFunction):
    def __getstate__(self) -> Any:
        raise RuntimeError("I have no state")

    def map(self, value: Any) -> Any:
        return value


class NotSet(MapFunction):
    def __init__(self) -> None:
        self.x = 1

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError("I take no state")

    def map(self, value: Any) -> Any:
        return value


class Named(MapFunction):
    def __reduce__(self) -> str:
        return "nothing_of_this_name"

    def map(self, value: Any) -> Any:
        return value


class Target:
    """Something to refer to weakly."""


TARGET = Target()

for _words, _make in {
    "a generator": lambda: (i for i in range(3)),
    "a thread": threading.Thread,
    "a thread-local object": threading.local,
    "a logger": lambda: logging.getLogger("mine"),
    "a context variable": lambda: contextvars.ContextVar("mine"),
    "a weak reference": lambda: weakref.ref(TARGET),
    "a pointer of ctypes": lambda: ctypes.pointer(ctypes.c_int(1)),
    "a memory map": lambda: mmap.mmap(-1, 10),
    "a module made by hand": lambda: types.ModuleType("by_hand"),
    "a random generator of NumPy": lambda: np.random.default_rng(1),
    "a partial of a partial": lambda: partial(partial(int, base=16)),
    "a frame": sys._getframe,
    "a coroutine that was never awaited": lambda: _closed(),
}.items():

    def _holds(here: Here, make: Any = _make) -> Any:
        return here.of(1).map(Holds(make()))

    case(f"a function that holds {_words}")(_holds)


def _closed() -> Any:
    async def nothing() -> None: ...

    coroutine = nothing()
    coroutine.close()
    return coroutine


@case("a function whose __getstate__ raises")
def _(here: Here) -> Any:
    return here.of(1).map(NoState())


@case("a function whose __setstate__ raises")
def _(here: Here) -> Any:
    return here.of(1).map(NotSet())


@case("a function whose __reduce__ names nothing")
def _(here: Here) -> Any:
    return here.of(1).map(Named())


class Threads(MapFunction):
    """Gives what another thread has made of the record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.lock = threading.Lock()
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        found: list[Any] = []
        thread = threading.Thread(
            target=lambda: found.append(self.context.get_index_of_this_subtask() + value)
        )
        with self.lock:
            thread.start()
            thread.join()
        return found[0]


@case("a function that works in another thread, with a lock made in open")
def _(here: Here) -> Any:
    return here.of(1, 2).map(Threads())


@case("a Decimal of 60 digits as a key beside a precision of 5")
def _(here: Here) -> Any:
    with decimal.localcontext() as context:
        context.prec = 5
        stream = here.of(Decimal("1" * 60), Decimal("1" * 59 + "2")).key_by(lambda v: v, Types.BIG_DEC())
        return sorted(stream.reduce(max).execute_and_collect())
