"""``firesteel run --rest``: where the API is served, and what is said when it cannot be."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli import main
from firesteel.cli._main import _rest_options
from firesteel.datastream import _session_defaults
from tests.cli.test_run import ENDLESS
from tests.spark.support import firesteel, started
from tests.waiting import patience, until


@pytest.fixture(autouse=True)
def _no_settings_are_left() -> object:
    yield
    _session_defaults.set_session_defaults({})


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("", ("rest.port=8081",)),
        ("9000", ("rest.port=9000", "rest.bind-port=9000")),
        ("[::1]:9000", ("rest.port=9000", "rest.bind-port=9000", "rest.bind-address=::1")),
        ("0.0.0.0:9000", ("rest.port=9000", "rest.bind-port=9000", "rest.bind-address=0.0.0.0")),
    ],
)
def test_an_address_as_options(address: str, options: tuple[str, ...]) -> None:
    assert _rest_options(address, None) == options


def test_the_port_of_the_configuration_is_kept() -> None:
    _session_defaults.set_session_defaults({"rest.bind-port": "9000-9010"})
    assert _rest_options("", None) == ()
    _session_defaults.set_session_defaults({"rest.port": "9000"})
    assert _rest_options("", None) == ("rest.port=9000",)


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("somewhere", "write it as PORT or HOST:PORT"),
        ("0.0.0.0:0", "open to everybody"),
        ("127.0.0.1:{taken}", "is taken"),
    ],
)
def test_what_cannot_be_served_is_said_before_the_program_begins(
    tmp_path: Path, rest: str, says: str
) -> None:
    script = tmp_path / "program.py"
    script.write_text("print('it runs')")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = rest.format(taken=taken.getsockname()[1])
        done = CliRunner().invoke(main, ["run", f"--rest={address}", str(script)])
    assert done.exit_code != 0
    assert says in done.output
    assert "it runs" not in done.output


@pytest.mark.parametrize(
    ("args", "rest"),
    [
        (["--rest", "program.py", "--rest", "x"], ""),
        (["--rest", "9000", "program.py"], "9000"),
        (["-p", "2", "--rest", "localhost:9000", "program.py"], "localhost:9000"),
        (["--quiet", "--rest", "--pyflink", "program.py"], ""),
        (["-D", "a=b", "program.py", "--rest", "9000"], None),
        (["--rest=9000", "program.py"], "9000"),
    ],
)
def test_an_address_may_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], rest: str | None
) -> None:
    """What follows the program is the program's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").touch()
    run = main.commands["run"]
    context = run.make_context("run", args)
    assert context.params["rest"] == rest
    assert context.params["script"] == "program.py"
    assert list(context.params["args"]) == args[args.index("program.py") + 1 :]


@pytest.mark.spark
@pytest.mark.row("S-CTRL-09")
def test_a_program_is_stopped_through_its_api_and_the_api_ends_with_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ENDLESS)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    savepoints = f"execution.checkpointing.savepoint-dir=file://{tmp_path}/savepoints"
    command = firesteel("run", "--rest", str(port), "-D", savepoints, "program.py")
    with started(command, tmp_path) as program:
        (job,) = until(lambda: jobs_at(port), seconds=120)
        until(lambda: get(port, f"/firesteel/v1/jobs/{job['id']}/epochs")["records_read"], seconds=120)
        assert get(port, "/overview")["taskmanagers"] == 1
        trigger = get(port, f"/jobs/{job['id']}/stop", "POST")["request-id"]
        result = f"/jobs/{job['id']}/savepoints/{trigger}"
        done = until(lambda: finished_only(get(port, result)), seconds=120)
        assert Path(done["operation"]["location"].removeprefix("file:")).is_dir()
        assert program.end().code == 0
    with pytest.raises(ConnectionRefusedError):
        get(port, "/jobs")


def finished_only(result: dict[str, Any]) -> dict[str, Any] | None:
    return result if result["status"]["id"] == "COMPLETED" else None


def jobs_at(port: int) -> list[dict[str, Any]]:
    try:
        return get(port, "/jobs")["jobs"]  # type: ignore[no-any-return]
    except ConnectionRefusedError:  # it is not there yet
        return []


def get(port: int, path: str, method: str = "GET") -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience(20))
    try:
        connection.request(method, path, body="{}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
