"""What functions log in workers is collected with its operator and subtask, bounded, and passed on."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, JobExecutionError
from firesteel.common.options.python import LOG_LEVEL
from firesteel.datastream import MapFunction, RuntimeContext
from firesteel.runtime import user_logs
from firesteel.runtime.program import Answer, LevelDescriptor, LogEntry, UserLogs
from firesteel.runtime.user_logs import LogCollector, log_level
from firesteel.testing.local_platform import LocalEngine

from .support import collect, environment, local_platform


class Keeping(LocalEngine):
    """Takes the logs out of the answers: here they come out of the log that they would go to."""

    kept: list[LogEntry]

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        answers = super().run(levels, parallelism)
        self.kept += [entry for a in answers if isinstance(a, UserLogs) for entry in a.entries]
        return [a for a in answers if not isinstance(a, UserLogs)]


@pytest.fixture
def kept() -> Iterator[list[LogEntry]]:
    Keeping.kept = []
    root = logging.getLogger()
    before = root.level
    user_logs.listen(logging.INFO)
    try:
        with local_platform(Keeping):
            yield Keeping.kept
    finally:
        user_logs.stop_listening()
        root.setLevel(before)


class Logging(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        logging.getLogger("app").info("opened")

    def map(self, value: Any) -> Any:
        log = logging.getLogger("app")
        log.debug("not sent")
        log.warning("seen %d", value)
        if value == 2:
            warnings.warn("careful", UserWarning, stacklevel=1)
        if value == 13:
            log.error("fails", stack_info=False)
            raise ValueError("13")
        return value


def told(kept: list[LogEntry]) -> list[tuple[Any, ...]]:
    return [(e.logger, e.level, e.text, e.operator, e.subtask) for e in kept if e.logger == "app"]


def test_entries_have_operator_and_subtask(kept: list[LogEntry]) -> None:
    with warnings.catch_warnings():
        logging.captureWarnings(True)
        warnings.simplefilter("always")
        stream = environment(2).from_collection([1, 2]).rebalance().map(Logging()).name("mine")
        assert sorted(collect(stream)) == [1, 2]
    entries = told(kept)
    opened = [e for e in entries if e[2] == "opened"]
    assert opened == [("app", logging.INFO, "opened", "mine", subtask) for subtask in (0, 1)]
    assert sorted(e[2] for e in entries if e[1] == logging.WARNING) == ["seen 1", "seen 2"]
    assert [e.text.strip().splitlines()[0][-21:] for e in kept if e.logger == "py.warnings"]
    assert "not sent" not in [e[2] for e in entries]


def test_what_is_logged_before_a_failure_comes_with_it(kept: list[LogEntry]) -> None:
    stream = environment(1).from_collection([1, 13]).map(Logging()).name("mine")
    with pytest.raises(JobExecutionError):
        collect(stream)
    assert told(kept)[-1] == ("app", logging.ERROR, "fails", "mine", 0)


def test_what_is_kept_is_bounded_and_what_is_not_is_counted() -> None:
    collector = LogCollector()
    logger = logging.Logger("noisy")
    logger.addHandler(collector)
    for i in range(1_007):
        logger.info("entry %d", i)
    logs = collector.take()
    assert logs is not None
    assert (len(logs.entries), logs.dropped) == (1_000, 7)
    assert collector.take() is None
    logger.info("x" * 10_000)
    logger.info("%d", "no number")
    logs = collector.take()
    assert logs is not None
    cut, odd = (entry.text for entry in logs.entries)
    assert cut.endswith("... (cut)")
    assert len(cut) < 8_100
    assert "showing it raises TypeError" in odd


def test_the_level_is_one_of_logging() -> None:
    assert log_level(Configuration()) == logging.INFO
    assert log_level(Configuration().set(LOG_LEVEL, "debug")) == logging.DEBUG
    with pytest.raises(ConfigurationError, match=LOG_LEVEL.key):
        log_level(Configuration().set(LOG_LEVEL, "loud"))
    with pytest.raises(ConfigurationError, match=LOG_LEVEL.key):
        collect(environment(1, **{LOG_LEVEL.key: "loud"}).from_collection([1]))
