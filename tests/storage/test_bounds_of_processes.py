"""Whoever reads or writes files waits for HDFS as long as its configuration says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from firesteel.cli._main import main
from firesteel.cluster.reign import Reign
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, PathNotFoundError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream._session_defaults import CONF_VARIABLE, set_session_defaults
from firesteel.history.server import HistoryServer
from firesteel.jobmanager.checkpoints import removal, storage
from firesteel.rest.settings import rest_settings
from firesteel.state_processor import SavepointReader
from firesteel.storage.bounded_calls import bound_calls, call_limit_s

KEY = "firesteel.hdfs.timeout"
SEVEN = Configuration.from_dict({KEY: "7 s", "rest.bind-port": "0", "historyserver.web.port": "0"})


@pytest.fixture(autouse=True)
def _nothing_is_configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(CONF_VARIABLE, raising=False)
    set_session_defaults({})
    yield
    set_session_defaults({})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of the settings, which says five seconds."""
    path = tmp_path / "config.yaml"
    path.write_text(f"{KEY}: 5 s\n")
    monkeypatch.setenv(CONF_VARIABLE, str(path))
    return path


def test_settings_from_outside_count_without_a_job(file: Path, tmp_path: Path) -> None:
    with pytest.raises(PathNotFoundError):
        SavepointReader.read(str(tmp_path / "nowhere"))
    assert call_limit_s() == 5
    set_session_defaults({KEY: "6 s"})
    assert call_limit_s() == 6


def test_a_file_of_settings_that_is_wrong_is_an_error_where_it_counts(file: Path) -> None:
    file.write_text(f"{KEY}: soon\n")
    with pytest.raises(ConfigurationError, match=r"firesteel\.hdfs\.timeout"):
        call_limit_s()


def test_a_program_is_built_with_its_own_settings(file: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert call_limit_s() == 5
    env.configure(SEVEN)
    assert call_limit_s() == 7


def test_the_history_server_has_those_that_it_is_given(tmp_path: Path) -> None:
    directory = Configuration.from_dict({"historyserver.archive.fs.dir": str(tmp_path)})
    server = HistoryServer(directory.add_all(SEVEN))
    try:
        assert call_limit_s() == 7
    finally:
        server.stop()


def test_a_cluster_has_those_that_it_is_given(tmp_path: Path) -> None:
    class Asked(Exception):
        pass

    def no_engine(configuration: Configuration) -> object:
        raise Asked

    with pytest.raises(Asked):
        Reign(SEVEN, rest_settings(SEVEN), tmp_path, no_engine)  # type: ignore[arg-type]
    assert call_limit_s() == 7


@pytest.mark.parametrize(
    "command",
    [
        ("savepoint", "inspect", "/nowhere"),
        ("savepoint", "dispose", "/nowhere"),
        ("state", "ls", "/nowhere"),
        ("state", "get", "/nowhere", "a", "b", "1"),
    ],
)
@pytest.mark.parametrize(("given", "limit_s"), [((), 5.0), (("-D", f"{KEY}=6 s"), 6.0)])
def test_commands_have_those_of_the_file_and_of_their_line(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    given: tuple[str, ...],
    limit_s: float,
) -> None:
    bound_calls(Configuration())  # of a job that this process has run before
    seen: list[float] = []

    def resolve(path: str) -> object:
        seen.append(call_limit_s())
        raise PathNotFoundError(f"There is nothing at {path}")

    monkeypatch.setattr(storage, "resolve", resolve)
    monkeypatch.setattr(removal, "resolve", resolve)
    CliRunner().invoke(main, [*command, *given])
    assert seen[:1] == [limit_s]
