"""The files for deployments say what is true: versions, options, names, what one of them asks of another."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from firesteel.common.configuration import Configuration
from firesteel.common.options.checks import check
from firesteel.rest.settings import rest_settings
from firesteel.version import __version__

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
MANIFEST = DEPLOY / "kubernetes" / "firesteel.yaml"
DOCKERFILE = (DEPLOY / "docker" / "Dockerfile").read_text()
PAGE = (ROOT / "docs" / "deployment.md").read_text()
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], Any]:
    """By kind and name."""
    found = [document for document in yaml.safe_load_all(MANIFEST.read_text()) if document]
    named = {(document["kind"], document["metadata"]["name"]): document for document in found}
    assert len(named) == len(found)
    return named


def pods(objects: dict[tuple[str, str], Any]) -> list[tuple[dict[str, str], Any]]:
    """The labels and the specification of each pod."""
    templates = [o["spec"]["template"] for (kind, _), o in objects.items() if kind == "Deployment"]
    return [(template["metadata"]["labels"], template["spec"]) for template in templates]


def test_versions_are_that_of_the_package(objects: dict[tuple[str, str], Any]) -> None:
    assert set(re.findall(r"firesteel-(\d[^-]*)-py3", DOCKERFILE)) == {__version__}
    containers = [c for _, pod in pods(objects) for c in pod["containers"] + pod.get("initContainers", [])]
    assert {container["image"] for container in containers} == {f"firesteel:{__version__}"}
    assert f"firesteel:{__version__}" in PAGE


def test_the_page_names_all_files() -> None:
    for file in (path for path in DEPLOY.rglob("*") if path.is_file()):
        assert file.name in PAGE, file


def test_objects_find_each_other(objects: dict[tuple[str, str], Any]) -> None:
    for (kind, name), found in objects.items():
        if kind == "Deployment":
            selector = found["spec"]["selector"]["matchLabels"]
            assert selector == found["spec"]["template"]["metadata"]["labels"], name
        if kind == "Service":
            chosen = [pod for labels, pod in pods(objects) if labels == found["spec"]["selector"]]
            assert len(chosen) == 1, name
            ports = {port["containerPort"] for c in chosen[0]["containers"] for port in c["ports"]}
            assert {port["port"] for port in found["spec"]["ports"]} <= ports, name
    for _, pod in pods(objects):
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        for container in pod["containers"] + pod.get("initContainers", []):
            assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes.keys()
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
        for volume in volumes.values():
            if "persistentVolumeClaim" in volume:
                assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in objects
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in objects
            if "secret" in volume:
                assert f"secret generic {volume['secret']['secretName']}" in MANIFEST.read_text()


def test_the_configuration_is_one(objects: dict[tuple[str, str], Any], tmp_path: Path) -> None:
    settings = yaml.safe_load(objects["ConfigMap", "firesteel"]["data"]["config.yaml"])
    tokens = tmp_path / "tokens"
    tokens.write_text("operate TOKEN-OF-SOME-LENGTH\n")
    tokens.chmod(0o600)
    configuration = Configuration()
    for key, value in {**settings, "rest.auth.file": str(tokens)}.items():
        configuration.set_string(key, str(value))
    check(configuration)
    rest_settings(configuration)
    services = {name for kind, name in objects if kind == "Service"}
    assert settings["spark.driver.host"] in services
    assert re.fullmatch(r"spark://([\w-]+):7077", settings["spark.master"])[1] in services  # type: ignore[index]
    driver = objects["Service", settings["spark.driver.host"]]["spec"]["ports"]
    ports = {settings["spark.driver.port"], settings["spark.blockManager.port"]}
    assert {port["port"] for port in driver} == ports


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_of_systemd(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text()
    command = re.search(r"^ExecStart=/opt/firesteel/bin/firesteel ([\w-]+)(?: (\w+))?", text, re.MULTILINE)
    assert command is not None
    from firesteel.cli import main

    found = main.commands[command[1]]
    if command[2] is not None and hasattr(found, "commands"):
        assert command[2] in found.commands
    if shutil.which("systemd-analyze"):
        checked = tmp_path / unit.name  # the program is not there: a path that is
        checked.write_text(text.replace("/opt/firesteel/bin/firesteel", "/bin/true"))
        said = subprocess.run(
            ["systemd-analyze", "verify", str(checked)], capture_output=True, text=True, timeout=30
        )
        assert (said.returncode, said.stderr) == (0, "")


def test_the_image_has_what_the_package_asks_for() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    extras = re.search(r"\[([\w,]+)\]\" &&", DOCKERFILE)
    assert extras is not None
    for extra in extras[1].split(","):
        assert f"\n{extra} = [" in project
    least = re.search(r'requires-python = ">=(3\.\d+)"', project)
    assert least is not None
    assert f"python:{least[1]}-" in DOCKERFILE
    assert "USER 185" in DOCKERFILE
