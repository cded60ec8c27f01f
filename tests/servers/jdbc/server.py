"""A PostgreSQL server of the tests' own, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from tests.places import free_port
from tests.waiting import patience

# Where the user of the server may go: the tests' own temporary directories are theirs alone.
_SYSTEM_TEMP = tempfile.gettempdir()
USER: Final = "tester"
PASSWORD: Final = "a secret: 'x'"
_PLACES: Final = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass(frozen=True)
class Server:
    port: int

    def url(self, database: str) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            dbname=database,
            user=USER,
            password=PASSWORD,
            autocommit=True,
        )


def program(name: str) -> str:
    """:raises AssertionError: PostgreSQL is not installed."""
    for pattern in _PLACES:
        for directory in sorted(Path("/").glob(pattern[1:]), reverse=True):
            if (directory / name).exists():
                return str(directory / name)
    found = shutil.which(name)
    assert found is not None, f"PostgreSQL is not installed ({name} is not there): run scripts/test-servers"
    return found


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Server]:
    """A server that ends with the block; its log is in ``directory`` then.

    Its data is elsewhere: PostgreSQL does not run as root, and pytest's directories are root's alone then.
    """
    as_user: list[str] = []
    home = Path(tempfile.mkdtemp(prefix="firesteel-postgres-", dir=_SYSTEM_TEMP))
    (home / "secret").write_text(PASSWORD)
    if os.geteuid() == 0:
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        for path in (home, home / "secret"):
            shutil.chown(path, "postgres", "postgres")
    control = [*as_user, program("pg_ctl"), "--pgdata", str(home / "data")]
    try:
        _run(
            *as_user,
            *(program("initdb"), "--pgdata", str(home / "data"), "--username", USER),
            *("--pwfile", str(home / "secret"), "--auth", "scram-sha-256", "--no-sync", "--no-locale"),
            *("--encoding", "UTF8"),
        )
        port = free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        _run(*control, "--log", str(home / "log"), "--wait", "--options", options, "start")
        try:
            yield Server(port)
        finally:
            _run(*control, "--wait", "--mode", "immediate", "stop")
    finally:
        if (home / "log").exists():
            shutil.copy(home / "log", directory / "log")
        shutil.rmtree(home)


def _run(*command: str) -> None:
    """Without pipes: the server would keep them open."""
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=patience(120), cwd="/"
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}"
