"""Savepoints that another graph goes on with, and odd places where they are."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.errors import StateCorruptionError
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from tests.waiting import patience

from .core import Case, Here, area

CASES: list[Case] = []
case = area("savepoints", CASES)

SEEN = threading.Event()  # functions of this module travel by reference
RECOVERY = "execution.state-recovery.path"
IGNORE = "execution.state-recovery.ignore-unclaimed-state"


class Counts(KeyedProcessFunction):
    """(key, how many records before): what a state has."""

    def __init__(self, describe: Any = None, read: Any = None) -> None:
        self.describe = describe or (lambda c: c.get_state(ValueStateDescriptor("n", Types.LONG())))
        self.read = read

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = self.describe(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        if self.read is not None:
            yield self.read(self.state)
            return
        before = self.state.value() or 0
        self.state.update(before + 1)
        yield "first" if not before else "goes on"


def numbers(env: StreamExecutionEnvironment, last: int = 2**60) -> DataStream:
    source = NumberSequenceSource(0, last)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")


def key(value: Any) -> Any:
    return value % 2


def counted(env: StreamExecutionEnvironment, function: Any = None, uid: str | None = "counts") -> DataStream:
    out = numbers(env).key_by(key, Types.LONG()).process(function or Counts())
    return out if uid is None else out.uid(uid)


def seen(value: Any) -> bool:
    """Lets nothing through, and tells that there was something."""
    SEEN.set()
    return False


def started(env: StreamExecutionEnvironment) -> Any:
    """A job of which something has come out."""
    SEEN.clear()
    client = env.execute_async("saved")
    assert SEEN.wait(patience(20))
    return client


def saved(
    here: Here, build: Callable[[StreamExecutionEnvironment], DataStream] = counted, **options: Any
) -> str:
    """The path of a savepoint of the job, and what it is called in."""
    settings = {"firesteel.epoch.max-records": 10, "parallelism.default": 1, **options}
    env = here.env(**settings)
    build(env).filter(seen).print()
    client = started(env)
    return str(client.stop_with_savepoint(False, str(here.path / "save points")).result())


def goes_on(
    here: Here, path: str, build: Callable[[StreamExecutionEnvironment], DataStream] = counted, **options: Any
) -> Any:
    """The first records of a job that begins there."""
    env = here.env(**{"firesteel.epoch.max-records": 10, RECOVERY: path, **options})
    records = build(env).execute_and_collect()
    found = [next(records) for _ in range(2)]
    records.close()
    return found


@case("the same graph")
def _(here: Here) -> Any:
    return goes_on(here, saved(here))


@case("an operator with another uid")
def _(here: Here) -> Any:
    return goes_on(here, saved(here), lambda env: counted(env, uid="other"))


@case("an operator with another uid, and state may be left")
def _(here: Here) -> Any:
    return goes_on(here, saved(here), lambda env: counted(env, uid="other"), **{IGNORE: "true"})


@case("no operator any more")
def _(here: Here) -> Any:
    return goes_on(here, saved(here), numbers)


@case("no operator any more, and state may be left")
def _(here: Here) -> Any:
    return len(goes_on(here, saved(here), numbers, **{IGNORE: "true"}))


@case("operators without uids, and one more before them")
def _(here: Here) -> Any:
    path = saved(here, lambda env: counted(env, uid=None))
    return goes_on(
        here, path, lambda env: numbers(env).map(lambda v: v).key_by(key, Types.LONG()).process(Counts())
    )


def _state(describe: Any, read: Any = lambda s: s.value()) -> Any:
    return lambda env: counted(env, Counts(describe, read))


for _words, _build in {
    "a value that is a text now": _state(lambda c: c.get_state(ValueStateDescriptor("n", Types.STRING()))),
    "a value that is pickled now": _state(
        lambda c: c.get_state(ValueStateDescriptor("n", Types.PICKLED_BYTE_ARRAY()))
    ),
    "a value of fewer bits": _state(lambda c: c.get_state(ValueStateDescriptor("n", Types.INT()))),
    "a list where a value was": _state(
        lambda c: c.get_list_state(ListStateDescriptor("n", Types.LONG())), lambda s: list(s.get())
    ),
    "a map where a value was": _state(
        lambda c: c.get_map_state(MapStateDescriptor("n", Types.LONG(), Types.LONG())),
        lambda s: list(s.items()),
    ),
    "a state of another name": _state(lambda c: c.get_state(ValueStateDescriptor("m", Types.LONG()))),
    "a state of the same name in capitals": _state(
        lambda c: c.get_state(ValueStateDescriptor("N", Types.LONG()))
    ),
}.items():
    case(_words)(lambda here, build=_build: goes_on(here, saved(here), build))


@case("a value with a time to live now")
def _(here: Here) -> Any:
    def described(context: RuntimeContext) -> Any:
        descriptor = ValueStateDescriptor("n", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        return context.get_state(descriptor)

    return goes_on(here, saved(here), lambda env: counted(env, Counts(described)))


for _words, _selector, _type in [
    ("keys of another type", lambda v: str(v % 2), Types.STRING()),
    ("keys of the same values and another type", key, Types.INT()),
    ("keys of no declared type", key, None),
]:

    def _keyed(here: Here, selector: Any = _selector, kind: Any = _type) -> Any:
        return goes_on(
            here, saved(here), lambda env: numbers(env).key_by(selector, kind).process(Counts()).uid("counts")
        )

    case(_words)(_keyed)


for _words, _options in {
    "more subtasks than before": {"parallelism.default": 3},
    "more subtasks than the greatest number": {"parallelism.default": 3, "pipeline.max-parallelism": 2},
    "another greatest number of subtasks": {"pipeline.max-parallelism": 64},
}.items():

    def _wide(here: Here, options: Any = _options) -> Any:
        path = saved(here)
        env = here.env(
            options.get("parallelism.default", 1),
            **{"firesteel.epoch.max-records": 10, RECOVERY: path, **options},
        )
        records = counted(env).execute_and_collect()
        found = {next(records) for _ in range(4)}
        records.close()
        return sorted(found)

    case(_words)(_wide)


@case("a function that is not keyed under the uid of one that was")
def _(here: Here) -> Any:
    return goes_on(here, saved(here), lambda env: numbers(env).map(lambda v: "mapped").uid("counts"))


@case("a source of another kind under the uid of the one before")
def _(here: Here) -> Any:
    def other(env: StreamExecutionEnvironment) -> DataStream:
        source = env.from_collection([1, 2, 3], Types.LONG()).uid("numbers")
        return source.key_by(key, Types.LONG()).process(Counts()).uid("counts")

    return goes_on(here, saved(here), other)


@case("two operators that have changed their uids with each other")
def _(here: Here) -> Any:
    def built(one: str, two: str) -> Any:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            first = numbers(env).key_by(key, Types.LONG()).process(Counts()).uid(one)
            return first.key_by(lambda v: v, Types.STRING()).process(Counts()).uid(two)

        return build

    return goes_on(here, saved(here, built("one", "two")), built("two", "one"))


@case("a window of another length")
def _(here: Here) -> Any:
    def build(size: int) -> Any:
        return lambda env: (
            numbers(env).key_by(key, Types.LONG()).count_window(size).reduce(lambda a, b: -1).uid("windows")
        )

    return goes_on(here, saved(here, build(3)), build(5))


# ---- places


def _numberless(error: StateCorruptionError) -> str:
    """Of an error the class and the text: how many bytes there are depends on the path."""
    text = re.sub(r"\d+(?= bytes| belong)", "n", str(error).splitlines()[0])
    return f"{type(error).__name__}: {re.sub(r'-[0-9a-f]{8}[.]run', '.run', text)}"


def at(words: str, changed: Callable[[Here, Path], Any], result: Any = goes_on) -> None:
    """*changed* does something to a savepoint, and gives the path that a job begins with; None: the same."""

    def program(here: Here) -> Any:
        path = saved(here)
        other = changed(here, Path(path.removeprefix("file://")))
        try:
            return result(here, path if other is None else other)
        except StateCorruptionError as error:
            return _numberless(error)

    case(words)(program)


def _manifest(path: Path) -> Path:
    return path / "_metadata"


def _linked(here: Here, path: Path) -> str:
    link = here.path / "link"
    link.symlink_to(path)
    return str(link)


def _moved(here: Here, path: Path) -> str:
    target = here.path / "mit ümlaut 😀 and #hash?"
    shutil.move(path, target)
    return str(target)


at("the path of the manifest", lambda here, path: str(_manifest(path)))
at("a path with a slash at its end", lambda here, path: f"{path}/")
at("a path with .. in it", lambda here, path: f"{path}/../{path.name}")
at("a file: address with %20", lambda here, path: f"file://{path}".replace(" ", "%20"))
at("a link to it", _linked)
at("it was moved to a place with odd letters", _moved)
at("a relative path", lambda here, path: os.path.relpath(path))
at("a manifest of no bytes", lambda here, path: (_manifest(path).write_bytes(b""), None)[1])
at("a manifest that is cut", lambda here, path: os.truncate(_manifest(path), 50))
at(
    "a manifest that is a directory",
    lambda here, path: (_manifest(path).unlink(), _manifest(path).mkdir())[1],
)
at(
    "a manifest with more behind it",
    lambda here, path: (_manifest(path).write_bytes(_manifest(path).read_bytes() + b"x"), None)[1],
)
at("no manifest", lambda here, path: _manifest(path).unlink())
at("the directory of all savepoints", lambda here, path: str(path.parent))
at(
    "state files of no bytes",
    lambda here, path: (
        [os.truncate(f, 0) for f in path.rglob("*") if f.is_file() and f.name != "_metadata"],
        None,
    )[1],
)
at(
    "state files that are gone",
    lambda here, path: ([f.unlink() for f in path.rglob("*") if f.is_file() and f.name != "_metadata"], None)[
        1
    ],
)


@case("two jobs that begin with it at a time")
def _(here: Here) -> Any:
    path = saved(here)
    streams = []
    for _ in range(2):
        env = here.env(**{"firesteel.epoch.max-records": 10, RECOVERY: path})
        streams.append(counted(env).execute_and_collect())
    found = [next(records) for records in streams]
    for records in streams:
        records.close()
    return found


@case("a savepoint into the folder of another one, which then begins a job")
def _(here: Here) -> Any:
    first = saved(here)
    env = here.env(**{"firesteel.epoch.max-records": 10, RECOVERY: first})
    counted(env).filter(seen).print()
    second = started(env).stop_with_savepoint(False, first.removeprefix("file://")).result()
    return goes_on(here, first), goes_on(here, str(second))
