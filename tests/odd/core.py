"""What an odd case is, where it runs, and what is written down of what comes of it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import JobExecutionError
from firesteel.datastream import DataStream, StreamExecutionEnvironment

EXPECTED: Final = Path(__file__).with_name("expected.tsv")
_LENGTH: Final = 240  # of an outcome that is written down


class Here:
    """Where a case runs: environments, and a directory of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def env(self, parallelism: Any = 1, **options: Any) -> StreamExecutionEnvironment:
        """An environment whose jobs fail at their first error; ``options`` are keys of the configuration."""
        configuration = Configuration()
        configuration.set_string("restart-strategy.type", "none")
        for key, value in options.items():
            configuration.set_string(key, str(value))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        return env

    def of(self, *records: Any, type: Any = None, parallelism: Any = 1) -> DataStream:
        """A stream of the records."""
        return self.env(parallelism).from_collection(list(records), type)

    def file(self, name: str, content: bytes) -> str:
        """The path of a new file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)


#: Gives a stream (its records are collected), an environment (its program is executed), or a value.
Program = Callable[[Here], Any]


@dataclass(frozen=True)
class Case:
    area: str
    name: str
    program: Program

    @property
    def id(self) -> str:
        return f"{self.area}: {self.name}"


def area(name: str, cases: list[Case]) -> Callable[[str], Callable[[Program], None]]:
    """A decorator that adds a program to `cases`; it takes what is done in plain words."""

    def case(words: str) -> Callable[[Program], None]:
        def add(program: Program) -> None:
            cases.append(Case(name, words, program))

        return add

    return case


def outcome_of(case: Case, here: Here) -> str:
    """What comes of a case, in one line: the result, or the error's class and first line; and the warnings.

    The records of a stream are sorted by their texts. Neither addresses, ids nor directories are in it.
    """
    with _warnings() as warnings:
        try:
            outcome = repr(_result_of(case, here))
        except BaseException as error:
            outcome = _said(error)
    for warning in warnings:
        outcome += f" and warns: {warning}"
    return _plain(outcome, here.path)


def _result_of(case: Case, here: Here) -> Any:
    found = case.program(here)
    if isinstance(found, DataStream):
        return sorted(found.execute_and_collect(), key=repr)
    return found.execute() and None if isinstance(found, StreamExecutionEnvironment) else found


def _said(error: BaseException) -> str:
    """The class and the first line of an error; of a failed job that of what it failed with, and where."""
    if not isinstance(error, JobExecutionError):
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    first = re.sub(r"^Job \w+ failed: ([a-z_]\w*\.)*", "", error.message)
    return f"{first.splitlines()[0]} (the job fails in {error.operator})"


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The first lines of what is logged as a warning in the block."""
    found: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage().splitlines()[0])

    handler = Handler(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(handler)


def _plain(text: str, path: Path) -> str:
    text = text.replace(str(path), "<dir>").encode("unicode_escape").decode("ascii").replace("\\\\", "\\")
    text = text.replace(os.path.dirname(os.__file__), "<lib>")
    text = re.sub(r"0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"\b([0-9a-f]{32}|[0-9a-f]{16}-[0-9a-f]{12}|[0-9a-f]{6}-[0-9a-f]{12})\b", "<id>", text)
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..."


def read_expected() -> dict[tuple[str, str], str]:
    """The outcomes that are written down, by area and name of the case."""
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()[1:]
    return {(area, name): outcome for area, name, outcome in (line.split("\t") for line in lines)}
