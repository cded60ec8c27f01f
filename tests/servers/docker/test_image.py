"""The image of deploy/docker/Dockerfile, built and run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from firesteel.version import __version__
from tests.servers.docker.engine import ROOT, Docker

pytestmark = pytest.mark.row("S-DEPLOY-08")


def test_what_is_in_the_image(docker: Docker, image: str) -> None:
    def said(*words: str) -> str:
        return docker("run", "--rm", image, *words).strip()

    assert said("firesteel", "--version").endswith(__version__)
    assert said("id", "-u", "-n") == "firesteel"
    assert said("sh", "-c", 'cat "$FIRESTEEL_CONF"/config.yaml; ls "$SPARK_HOME"/bin/spark-class') == (
        "/opt/spark/bin/spark-class"
    )
    doctor = said("firesteel", "doctor")
    assert "packages that Firesteel needs are installed" in doctor
    assert "FAIL" not in doctor


def test_the_first_program_runs(docker: Docker, image: str, tmp_path: Path) -> None:
    """As a user who tries the image: the program is mounted, and may be read by anybody."""
    found = re.search(r"## A first program\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    tmp_path.chmod(0o755)
    (tmp_path / "count.py").write_text(found[1])
    words = ("firesteel", "run", "/opt/count.py")
    printed = docker("run", "--rm", "-v", f"{tmp_path}/count.py:/opt/count.py:ro", image, *words)
    assert {"('a', 1)", "('a', 2)", "('a', 3)", "('steel', 1)", "('spark', 1)"} <= {
        line.partition("> ")[2] for line in printed.splitlines()
    }
