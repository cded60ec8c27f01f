"""A real Docker engine: the one of this machine, or one of the tests' own, and the image that it builds.

Where no registry is reached, what stands in for the base image is made of Debian's packages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from firesteel.version import __version__
from tests.places import CACHE
from tests.waiting import patience, until

ROOT: Final = Path(__file__).parents[3]
BASE: Final = "python:3.11-slim-bookworm"
IMAGE: Final = "firesteel-tests"
_EXTRAS: Final = "server,kubernetes"
_PLAIN: Final = "debian:bookworm-slim"
_MIRROR: Final = "http://deb.debian.org/debian"
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
#: Debian's Python where the images of the registry have theirs, and the authorities that this machine trusts.
_STAND_IN: Final = f"""\
FROM {_PLAIN}
RUN apt-get update \\
    && apt-get install -y --no-install-recommends python3 python3-pip ca-certificates \\
    && rm -rf /var/lib/apt/lists/* /usr/lib/python3*/EXTERNALLY-MANAGED \\
    && ln -s /usr/bin/python3 /usr/local/bin/python
COPY certificates {_CERTIFICATES}
ENV PIP_CERT={_CERTIFICATES}
"""
#: docs/deployment.md has it: a program in an image of its own.
_PROGRAM: Final = """\
FROM {image}
COPY --chown=185:185 tests /opt/program/tests
COPY --chown=185:185 main.py /opt/program/
ENV PYTHONPATH=/opt/program
"""
_MAIN: Final = """\
import sys
from pathlib import Path

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from tests.kills import job

output = Path(sys.argv[1])
output.mkdir(exist_ok=True)
shared = Configuration.from_dict({"firesteel.state.dir": str(output.parent / "state")})
env = StreamExecutionEnvironment.get_execution_environment(shared)
job.build(env, output, rate=float(sys.argv[2]))
env.execute("numbers")
"""


class Docker:
    """:param directory: for what is built, and for logs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = dict(os.environ)

    def start(self) -> Docker:
        assert shutil.which("docker"), "there is no docker: run scripts/test-servers"
        if not self._answers():
            self._start_own()
        return self

    def _start_own(self) -> None:
        """Its images are kept for the next run of the tests; its containers are not."""
        daemon = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        assert daemon, "no Docker engine runs here, and there is none to start: run scripts/test-servers"
        socket = f"unix://{self._directory}/docker.sock"
        self._environment["DOCKER_HOST"] = socket
        log = self._directory / "dockerd.log"
        places = {"--data-root": CACHE / "docker", "--exec-root": self._directory / "run"}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [daemon, "--host", socket, "--pidfile", str(self._directory / "dockerd.pid")]
                + [str(word) for option in places.items() for word in option],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        until(
            lambda: self._process is None or self._process.poll() is not None or self._answers(),
            lambda: f"Docker does not answer: {log.read_text()[-3000:]}",
            seconds=60,
            look_s=0.2,
        )
        assert self._process.poll() is None, log.read_text()[-3000:]
        left = self("ps", "--all", "--quiet").split()  # of tests that were killed: they have begun again
        if left:
            self("rm", "--force", "--volumes", *left)
        self("volume", "prune", "--force")

    def stop(self) -> None:
        self("image", "prune", "--force")
        if self._process is not None:
            self._process.terminate()
            self._process.wait(patience(60))

    def _answers(self) -> bool:
        asked = ["docker", "info", "--format", "{{.ServerErrors}}"]
        done = subprocess.run(asked, env=self._environment, capture_output=True, text=True)
        return done.returncode == 0 and done.stdout.strip() == "[]"

    def __call__(self, *words: str | Path, seconds: float = 120, **variables: str) -> str:
        """What a command of ``docker`` prints to its standard output.

        :raises AssertionError: it fails.
        """
        return self._output(["docker", *map(str, words)], seconds, variables)

    def compose(self, *words: str | Path, seconds: float = 120, **variables: str) -> str:
        """The same of ``docker compose``: of a plug-in where it is there, else of the older program."""
        asked = ["docker", "compose", "version"]
        has_plugin = subprocess.run(asked, capture_output=True).returncode == 0
        command = ["docker", "compose"] if has_plugin else ["docker-compose"]
        return self._output([*command, *map(str, words)], seconds, variables)

    def _output(self, command: list[str], seconds: float, variables: dict[str, str]) -> str:
        done = subprocess.run(
            command,
            env=self._environment | variables,
            capture_output=True,
            text=True,
            timeout=patience(seconds),
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def inspect(self, name: str) -> Any:
        return json.loads(self("inspect", name))[0]

    def has(self, image: str) -> bool:
        return bool(self("images", "--quiet", image).strip())

    # ---- images

    def build(self) -> str:
        """The image that deploy/docker/Dockerfile makes of this version, and its name."""
        if not self.has(BASE) and not self._pulls(BASE):
            self._build_base()
        dist = self._directory / "dist"
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", dist, ROOT]
        subprocess.run(pip, check=True, capture_output=True)
        file = ROOT / "deploy/docker/Dockerfile"
        name = f"{IMAGE}:{__version__}"
        self("build", "-f", file, "-t", name, "--build-arg", f"EXTRAS={_EXTRAS}", dist, seconds=600)
        return name

    def _pulls(self, image: str) -> bool:
        asked = ["docker", "pull", "--quiet", image]
        return subprocess.run(asked, env=self._environment, capture_output=True).returncode == 0

    def _build_base(self) -> None:
        if not self.has(_PLAIN) and not self._pulls(_PLAIN):
            self._import_debian()
        place = self._directory / "base"
        place.mkdir()
        (place / "Dockerfile").write_text(_STAND_IN)
        shutil.copy(_CERTIFICATES, place / "certificates")
        self("build", "-t", BASE, place, seconds=300)

    def _import_debian(self) -> None:
        root, archive = self._directory / "debian", self._directory / "debian.tar"
        for command in (
            ["debootstrap", "--variant=minbase", "bookworm", root, _MIRROR],
            ["tar", "-C", root, "-cf", archive, "."],
        ):
            done = subprocess.run(command, capture_output=True, text=True, timeout=patience(300))
            assert done.returncode == 0, f"{command[0]}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        self("import", archive, _PLAIN)

    def build_program(self, image: str) -> str:
        """An image with the job of the kill tests, ``/opt/program/main.py OUTPUT RATE``, and its name."""
        place = self._directory / "program"
        place.mkdir()
        (place / "Dockerfile").write_text(_PROGRAM.format(image=image))
        (place / "main.py").write_text(_MAIN)
        unwanted = shutil.ignore_patterns("__pycache__", "data", "servers")
        shutil.copytree(ROOT / "tests", place / "tests", ignore=unwanted)
        name = f"{IMAGE}:program"
        self("build", "-t", name, place, seconds=120)
        return name
