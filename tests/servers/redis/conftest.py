"""A Redis server in a process of its own, on the loopback."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.places import free_port
from tests.servers.fixtures import platform
from tests.waiting import patience

__all__ = ["platform", "server"]

_PATIENCE_S = 30
PASSWORD = "secret"


class RedisServer:
    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.client: Any = redis.Redis.from_url(self.url, decode_responses=True)

    def start(self) -> RedisServer:
        program = shutil.which("redis-server")
        assert program, "these tests need Redis: run scripts/test-servers, or install redis-server"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--requirepass", PASSWORD]
        options += ["--dir", str(self._directory), "--save", "", "--appendonly", "yes"]
        with (self._directory / "output").open("ab") as output:
            self._process = subprocess.Popen([program, *options], stdout=output, stderr=output)
        until = time.monotonic() + patience(_PATIENCE_S)
        while not self._is_up():
            assert time.monotonic() < until, (self._directory / "output").read_text()
            time.sleep(0.05)
        return self

    def _is_up(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def asked(self) -> int:
        """How many commands looked something up since the server began."""
        statistics = self.client.info("commandstats")
        return sum(statistics.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("get", "hgetall"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    running = RedisServer(tmp_path).start()
    yield running
    running.kill()
