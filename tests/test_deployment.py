"""The files for deployments say what is true: versions, options, names, what one of them asks of another."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from deploy.kubernetes.render import MANIFESTS
from firesteel.cli import main
from firesteel.common.configuration import Configuration
from firesteel.common.options.checks import check
from firesteel.version import __version__
from tests.waiting import patience

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DOCKER = DEPLOY / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
PAGE = (ROOT / "docs" / "deployment.md").read_text()
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def parsed(words: list[str]) -> click.Context:
    """A command line of ours as the command has it.

    :raises click.UsageError: there is no such command or option.
    """
    assert Path(words[0]).name == "firesteel"
    context, command, name, words = click.Context(main), main, "firesteel", words[1:]
    while isinstance(command, click.Group):
        found, next_command, words = command.resolve_command(context, words)
        assert found is not None
        assert next_command is not None
        name, command = found, next_command
    return command.make_context(name, list(words))


def test_the_page_names_all_files() -> None:
    for file in (path for path in DEPLOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        named = file.name if "helm" not in file.parts else "deploy/helm/firesteel"
        assert named in PAGE, file


@pytest.mark.row("S-CTRL-22")
def test_the_page_says_of_each_cluster_manager_what_was_run() -> None:
    table = PAGE.partition("## Which way")[2].partition("\n## ")[0]
    done = {way: what for way, _, what in re.findall(r"^\| (\[.+?) \| (.*?) \|(.+)\|$", table, re.MULTILINE)}
    said = {
        "standalone Spark": " run",
        "Kubernetes": " run by Helm 3 on Kubernetes 1.34",
        "YARN": " run, both ways",
    }
    for manager, words in said.items():
        assert any(words in what for way, what in done.items() if manager in way), manager


def test_the_image_is_that_of_this_version() -> None:
    assert set(re.findall(r"firesteel-(\d[^-]*)-py3", DOCKERFILE)) == {__version__}
    assert set(re.findall(r"firesteel:(\d[\w.]*)", DOCKERFILE + PAGE)) == {__version__}


@pytest.mark.row("S-DEPLOY-08")
def test_hadolint_has_nothing_against_the_image(tmp_path: Path) -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    (application,) = re.findall(r"^    (FROM firesteel.*\n(?:    .*\n)+)", PAGE, re.MULTILINE)
    (tmp_path / "Dockerfile").write_text(re.sub("^    ", "", application, flags=re.MULTILINE))
    for file in (DOCKER / "Dockerfile", tmp_path / "Dockerfile"):
        done = subprocess.run([hadolint, file], capture_output=True, text=True, timeout=patience(30))
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (tmp_path / "Dockerfile").write_text(DOCKERFILE.replace("--no-install-recommends", ""))
    assert (
        subprocess.run(
            [hadolint, tmp_path / "Dockerfile"], capture_output=True, timeout=patience(30)
        ).returncode
        == 1
    )


def test_the_image_has_what_the_package_asks_for() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    extras = re.search(r"ARG EXTRAS=([\w,]+)\n", DOCKERFILE)
    assert extras is not None
    for extra in extras[1].split(","):
        assert f"\n{extra} = [" in project
    least = re.search(r'requires-python = ">=(3\.\d+)"', project)
    assert least is not None
    assert f"python:{least[1]}-" in DOCKERFILE
    command = re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert command is not None
    assert parsed(yaml.safe_load(command[1])).params["foreground"]


def test_the_user_of_the_image_is_that_of_the_pods() -> None:
    assert "--gid 185" in DOCKERFILE
    assert "--uid 185" in DOCKERFILE
    assert "\nUSER 185\n" in DOCKERFILE
    users = {
        (security["runAsUser"], security["runAsGroup"], security["fsGroup"])
        for file in MANIFESTS
        for found in yaml.safe_load_all((DEPLOY / "kubernetes" / file).read_text())
        if found["kind"] in ("Deployment", "Job")
        for security in [found["spec"]["template"]["spec"]["securityContext"]]
    }
    assert users == {(185, 185, 185)}


@pytest.mark.row("S-DEPLOY-08")
def test_the_services_of_compose_belong_together() -> None:
    compose: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", [])) <= services.keys(), name
        assert service["image"] == f"${{FIRESTEEL_IMAGE:-firesteel:{__version__}}}"
        sources = {volume.partition(":")[0] for volume in service["volumes"]}
        assert sources <= {*compose["volumes"], "./config"}, name
    dispatcher = parsed(services["dispatcher"]["command"])
    configuration = Configuration.from_dict(
        dict(word.split("=", 1) for word in dispatcher.params["definitions"])
    )
    check(configuration)
    assert configuration.to_dict()["spark.driver.host"] in services
    master = re.fullmatch(r"spark://([\w-]+):7077", dispatcher.params["spark_master"])
    assert master is not None
    assert services[master[1]]["command"][-1] == master[1]
    assert services["spark-worker"]["command"][-1] == master[0]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_of_systemd(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text()
    command = re.search(r"^ExecStart=(/opt/firesteel/bin/firesteel .*)$", text, re.MULTILINE)
    assert command is not None
    parsed(command[1].split())
    if shutil.which("systemd-analyze"):
        checked = tmp_path / unit.name  # the program is not there: a path that is
        checked.write_text(text.replace("/opt/firesteel/bin/firesteel", "/bin/true"))
        said = subprocess.run(
            ["systemd-analyze", "verify", str(checked)], capture_output=True, text=True, timeout=patience(30)
        )
        assert (said.returncode, said.stderr) == (0, "")
