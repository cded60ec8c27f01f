"""What functions log in workers is logged again on the driver."""

from __future__ import annotations

import logging

import pytest

from firesteel.jobmanager.user_logs import pass_on
from firesteel.runtime.program import Ack, LogEntry, UserLogs


def entry(text: str, level: int = logging.INFO, operator: str = "mine", subtask: int | None = 1) -> LogEntry:
    return LogEntry("app.part", level, text, 1_700_000_000.5, "/a/b.py", 7, "map", operator, subtask)


def test_entries_go_through_the_logger_of_the_same_name(caplog: pytest.LogCaptureFixture) -> None:
    logs = UserLogs((entry("one"), entry("two", logging.ERROR, "", None), entry("low", logging.DEBUG)), 3)
    with caplog.at_level(logging.INFO):
        pass_on([Ack("v", 0), logs])
    one, two, dropped = caplog.records
    assert (one.name, one.levelname, one.getMessage()) == ("app.part", "INFO", "mine (subtask 1): one")
    assert (one.operator, one.subtask, one.lineno, one.created) == ("mine", 1, 7, 1_700_000_000.5)  # type: ignore[attr-defined]
    assert (two.levelname, two.getMessage()) == ("ERROR", "two")
    assert dropped.getMessage().startswith("3 entries")


def test_where_logging_is_not_set_up_they_go_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("app"), "propagate", False)
    pass_on([UserLogs((entry("shown"),), 0)])
    assert "INFO app.part mine (subtask 1): shown" in capsys.readouterr().err
