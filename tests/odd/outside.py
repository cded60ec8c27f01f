"""Async functions and sinks that misbehave, and side outputs."""

from __future__ import annotations

import asyncio
from typing import Any

from firesteel.common import Time, Types
from firesteel.connectors import Sink, SinkWriter
from firesteel.datastream import AsyncDataStream, DataStream, OutputTag
from firesteel.datastream.functions import (
    AsyncFunction,
    ProcessFunction,
)

from .core import Case, Here, area

CASES: list[Case] = []
case = area("async functions, sinks and side outputs", CASES)


def asked(here: Here, invoke: Any) -> DataStream:
    timeout_ms = 300 if invoke is never else 600_000  # what answers has time for it

    class Asking(AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            return await invoke(value)

    return AsyncDataStream.unordered_wait(here.of(1), Asking(), Time.milliseconds(timeout_ms), 2)


async def never(value: Any) -> Any:
    await asyncio.Event().wait()


async def cancelled(value: Any) -> Any:
    raise asyncio.CancelledError


async def number(value: Any) -> Any:
    return 5


async def nothing(value: Any) -> Any:
    return None


async def text(value: Any) -> Any:
    return "ab"


async def cancelling(value: Any) -> Any:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


for _words, _invoke in [
    ("an async function that never answers", never),
    ("an async function that raises CancelledError", cancelled),
    ("an async function that cancels itself", cancelling),
    ("an async function that answers with a number", number),
    ("an async function that answers with None", nothing),
    ("an async function that answers with a text", text),
]:
    case(_words)(lambda here, f=_invoke: asked(here, f))


@case("an async function whose async_invoke is not async")
def _(here: Here) -> Any:
    class Plain(AsyncFunction):
        def async_invoke(self, value: Any) -> Any:  # type: ignore[override]
            return [value]

    return AsyncDataStream.unordered_wait(here.of(1), Plain(), Time.seconds(1), 2)


for _words, _arguments in [
    ("an async function without time", (Time.milliseconds(0), 2)),
    ("an async function with a capacity of 0", (Time.seconds(1), 0)),
    ("an async function with a capacity of -1", (Time.seconds(1), -1)),
    ("an async function with a capacity of '2'", (Time.seconds(1), "2")),
]:

    def _awaited(here: Here, arguments: Any = _arguments) -> Any:
        class Plain(AsyncFunction):
            async def async_invoke(self, value: Any) -> Any:
                return [value]

        return AsyncDataStream.unordered_wait(here.of(1), Plain(), *arguments)

    case(_words)(_awaited)


class Failing(Sink):
    def __init__(self, where: str) -> None:
        self.where = where

    def create_writer(self, context: Any) -> Any:
        if self.where == "create_writer":
            raise OSError("no disk")
        return None if self.where == "no writer" else FailingWriter(self.where)


class FailingWriter(SinkWriter):
    def __init__(self, where: str) -> None:
        self.where = where

    def write(self, record: Any, context: Any) -> None:
        if self.where == "write":
            raise OSError("no disk")

    def flush(self, end_of_input: bool) -> None:
        if self.where == "flush":
            raise OSError("no disk")

    def close(self) -> None:
        if self.where == "close":
            raise OSError("no disk")


for _where in ("create_writer", "no writer", "write", "flush", "close"):

    def _failing(here: Here, where: str = _where) -> Any:
        env = here.env()
        env.from_collection([1]).sink_to(Failing(where))
        return env

    case(f"a sink that fails in {_where}")(_failing)


@case("a side output of a tag that nobody reads")
def _(here: Here) -> Any:
    class Aside(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield OutputTag("unread"), value
            yield value

    return here.of(1).process(Aside())


@case("two tags of one name and other types")
def _(here: Here) -> Any:
    class Aside(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield OutputTag("t", Types.INT()), value

    found = here.of(1).process(Aside())
    return found.get_side_output(OutputTag("t", Types.INT())).union(
        found.get_side_output(OutputTag("t", Types.STRING()))
    )


@case("a tag with an empty name")
def _(here: Here) -> Any:
    return OutputTag("")


@case("a tag whose name is None")
def _(here: Here) -> Any:
    return OutputTag(None)  # type: ignore[arg-type]


@case("a tuple of a text and a value, where a tag was meant")
def _(here: Here) -> Any:
    class Aside(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield "tag", value

    return here.of(1).process(Aside()).get_side_output(OutputTag("tag"))
