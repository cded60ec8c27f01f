"""The containers of deploy/docker/compose.yaml, a standalone Spark and a session cluster, while some die."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.places import free_port
from tests.servers.docker.engine import ROOT, Docker
from tests.servers.struck import TOKEN, Struck, submitted

OUTPUT = "/var/lib/firesteel/output"
COMPARE = f"""
from pathlib import Path
from tests.kills import job
print(job.differences(Path("{OUTPUT}"), may_leave=True))
"""
pytestmark = [pytest.mark.spark, pytest.mark.row("S-DEPLOY-08")]


class Services:
    """The services of the file, in a place of their own."""

    def __init__(self, docker: Docker, place: Path, program: str) -> None:
        shutil.copy(ROOT / "deploy/docker/compose.yaml", place)
        (place / "config").mkdir()
        (place / "config/config.yaml").write_text("execution.checkpointing.interval: 500 ms\n")
        (place / "config/tokens").write_text(f"submit {TOKEN}\n")
        (place / "config/tokens").chmod(0o600)
        for path in (place / "config", *(place / "config").iterdir()):
            os.chown(path, 185, 185)
        port = free_port()
        settings = {"FIRESTEEL_IMAGE": program, "FIRESTEEL_REST_PORT": str(port)}
        file = ("-f", place / "compose.yaml", "-p", "firesteel-tests")
        self.compose = partial(docker.compose, *file, **settings)
        self.rest = Struck(lambda: ("127.0.0.1", port))

    def run(self, service: str, *words: str) -> str:
        """What a command prints in the container of a service."""
        variables = ("-e", f"FIRESTEEL_REST_TOKEN={TOKEN}")
        return str(self.compose("exec", "-T", *variables, service, *words))

    def kill(self, service: str, process: str) -> None:
        """The container ends with the process, and Docker starts another one."""
        self.compose("exec", "-T", service, "pkill", "-KILL", process)


@pytest.fixture
def services(docker: Docker, program: str, tmp_path: Path) -> Iterator[Services]:
    found = Services(docker, tmp_path, program)
    found.compose("up", "-d")
    try:
        yield found
    finally:
        found.compose("down", "-v")


def test_a_job_whose_containers_die(services: Services) -> None:
    """The worker with its executor, then the dispatcher with the driver: the output is what it must be."""
    rest = services.rest
    rest.answers()
    program = ("firesteel", "run", "-m", "dispatcher:8081", "-d", "/opt/program/main.py", OUTPUT, "60")
    job = submitted(services.run("dispatcher", *program))
    rest.goes_on(job)
    services.kill("spark-worker", "java")
    time.sleep(1)
    rest.goes_on(job)
    services.kill("dispatcher", "firesteel")
    time.sleep(1)
    rest.goes_on(job)
    rest.finishes(job)
    assert services.run("dispatcher", "python", "-c", COMPARE).strip() == ""
