"""Secrets of configurations, connectors and addresses are masked in what libraries say of them too: in
causes, contexts, notes and log lines, wherever an error reaches the user."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner

import firesteel
from firesteel.cli import main
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConnectorError, JobExecutionError
from firesteel.common.logs import logger
from firesteel.common.masking import MASK, masked, remember_address, remember_secret
from firesteel.connectors.kafka.settings import client_settings
from firesteel.datastream import _uncaught as uncaught
from firesteel.runtime.error_report import report_of
from firesteel.runtime.user_code import UserCodeError
from firesteel.runtime.user_logs import LogCollector
from firesteel.storage.filesystems import resolve
from tests.runtime.support import environment, local_platform

S = "tr0ub4dor&3"
SRC = Path(firesteel.__file__).parent


def learn_from_configuration() -> None:
    Configuration().set_string("connector.db.password", S)


def learn_from_a_dictionary() -> None:
    Configuration.from_dict({"fs.s3a.secret.key": S})


def learn_from_an_address_in_a_configuration() -> None:
    Configuration().set_string("execution.checkpointing.dir", f"s3://KEY:{S}@bucket/p")


def learn_from_a_path() -> None:
    resolve(f"s3://bucket/p?secret_key={quote(S)}")


def learn_from_properties_of_kafka() -> None:
    client_settings({"sasl.jaas.config": f'Plain required username="a" password="{S}";'}, producer=False)


LESSONS = [
    learn_from_configuration,
    learn_from_a_dictionary,
    learn_from_an_address_in_a_configuration,
    learn_from_a_path,
    learn_from_properties_of_kafka,
]


@pytest.mark.parametrize("learn", LESSONS, ids=lambda learn: learn.__name__)
def test_what_is_known_is_masked_wherever_it_stands(learn: Any) -> None:
    said = f"login as me with {S} (in the URL tr0ub4dor%263) failed"
    assert masked(said) == said
    learn()
    assert masked(said) == f"login as me with {MASK} (in the URL {MASK}) failed"


def test_no_more_than_the_secret_is_masked() -> None:
    for secret in ("abc", "true", "password", "", None):  # short, or no secret in itself
        remember_secret(secret)
    remember_secret("admin")
    Configuration().set_string("aws.credentials.provider", "AUTO")
    Configuration().set_string("security.delegation.tokens.renewal.time-bucket", "5 min")
    remember_address("redis://user:password@host:6379/0")
    text = "true: abc has a password, AUTO after 5 min, administrators.user"
    assert masked(text) == text
    assert masked("admin:x") == f"{MASK}:x"
    assert masked("{'Authorization': 'Basic YTpi'}") == f"{{'Authorization': 'Basic {MASK}'}}"


def failure() -> ConnectorError:
    """An error of ours with a secret in its cause, in the context of that, and in notes."""
    remember_secret(S)
    try:
        try:
            try:
                raise ValueError(f"context: {S}")
            except ValueError:
                error = OSError(f"cause: {S}")
                error.add_note(f"note: {S}")
                raise error  # noqa: B904  it is its context that counts
        except OSError as cause:
            ours = ConnectorError(f"ours: {S}")
            ours.add_note(f"note of ours: {S}")
            raise ours from cause
    except ConnectorError as raised:
        return raised


def test_the_notes_of_an_error_of_ours() -> None:
    assert failure().__notes__ == [f"note of ours: {MASK}"]


WORDS = ("context: ", "cause: ", "note: ", "ours: ", "note of ours: ")


def assert_masked(text: str) -> None:
    assert S not in text
    for word in WORDS:
        assert f"{word}{MASK}" in text


def test_a_log_line_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    log, shown = logger("firesteel.tests.of_secrets"), io.StringIO()
    handler = logging.StreamHandler(shown)
    log.addHandler(handler)
    try:
        error = failure()
        log.error("failed: %s", error, exc_info=error)
        log.warning("plain %d", 7)
    finally:
        log.removeHandler(handler)
    assert_masked(shown.getvalue())
    assert shown.getvalue().endswith("\nplain 7\n")


def test_every_logger_of_ours_masks() -> None:
    """And is made in one way."""
    ways = re.compile(r"logging\.getLogger\(__name__\)|logging\.getLogger\([\"']firesteel[.\"']")
    others = {"common/logs.py", "cli/_main.py"}
    for file in SRC.rglob("*.py"):
        if str(file.relative_to(SRC)) not in others:
            assert not ways.search(file.read_text()), file


def test_a_log_line_of_a_library_in_a_worker() -> None:
    remember_secret(S)
    collector = LogCollector()
    record = logging.makeLogRecord({"msg": "connecting with %s", "args": (S,), "exc_info": None})
    collector.emit(record)
    error = failure()
    collector.emit(logging.makeLogRecord({"msg": "m", "exc_info": (type(error), error, None)}))
    logs = collector.take()
    assert logs is not None
    assert logs.entries[0].text == f"connecting with {MASK}"
    assert_masked(logs.entries[1].text)


def test_the_report_of_an_error_of_users_code() -> None:
    error = UserCodeError("operator", "uid")
    error.__cause__ = failure()
    report = report_of(error, 0)
    assert S not in report.summary
    assert_masked(report.traceback)


def test_the_error_of_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(value: int) -> int:
        raise failure()

    with local_platform():
        env = environment(1, **{"restart-strategy.type": "none", "my.password": S})
        env.from_collection([1]).map(fails).print()
        with pytest.raises(JobExecutionError) as info:
            env.execute()
    assert_masked(str(info.value))


def test_what_python_prints_at_the_end_of_a_program() -> None:
    program = f"""
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.common.configuration import Configuration
StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({{"my.password": {S!r}}}))
raise ValueError("cause: " + {S!r}) from OSError("context")
"""
    command = [sys.executable, "-c", program.replace(f"{S!r})", "'tr0ub4dor' + '&3')")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "OSError: context" in done.stderr
    assert f"ValueError: cause: {MASK}" in done.stderr
    assert S not in done.stderr


def test_a_program_that_chose_what_is_printed_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: seen.append(error))
    mine = sys.excepthook
    uncaught.mask_uncaught()
    assert sys.excepthook is mine


def test_an_error_without_secrets_is_printed_by_python_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "__excepthook__", lambda *error: seen.append(error))
    error = ValueError("plain")
    uncaught._show(ValueError, error, None)
    assert seen == [(ValueError, error, None)]


def test_the_command_line(tmp_path: Path) -> None:
    """An error of the program's own, with causes of libraries."""
    program = tmp_path / "p.py"
    program.write_text(
        "from firesteel.common.errors import ConnectorError\n"
        "def f():\n"
        "    try:\n"
        f"        raise OSError('cause: ' + {S[:4]!r} + {S[4:]!r})\n"
        "    except OSError as e:\n"
        f"        raise {{kind}}('ours: ' + {S[:4]!r} + {S[4:]!r}) from e\n"
        "f()\n"
    )
    text = program.read_text()
    for kind, code in (("ConnectorError", 1), ("RuntimeError", 1)):
        program.write_text(text.replace("{kind}", kind))
        command = [sys.executable, "-c", "from firesteel.cli import main; main()"]
        done = subprocess.run(
            [*command, "run", "-D", f"spark.hadoop.fs.s3a.secret.key={S}", str(program)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYSPARK_GATEWAY_PORT": "1"},  # no JVM is started early
        )
        assert done.returncode == code, done.stderr
        assert f"ours: {MASK}" in done.stderr
        assert S not in done.stdout + done.stderr


def test_an_error_of_the_system_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from firesteel.jobmanager.checkpoints import removal

    def fails(path: str) -> list[str]:
        raise OSError(f"cannot: {S}")

    remember_secret(S)
    monkeypatch.setattr(removal, "dispose_savepoint", fails)
    done = CliRunner().invoke(main, ["savepoint", "dispose", "/x"])
    assert f"cannot: {MASK}" in done.output
    assert S not in done.output
