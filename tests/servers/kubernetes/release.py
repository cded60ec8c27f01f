"""A release of the chart on a Kubernetes, installed by Helm, with the image and the job of the tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

from tests.servers.docker.engine import ROOT
from tests.servers.kubernetes.cluster import BINARIES, Kubernetes
from tests.servers.struck import TOKEN, Struck, submitted
from tests.waiting import patience, until

NAME: Final = "flint"
PROGRAM: Final = "/opt/program/main.py"
CLAIM: Final = "shared"
_CHART: Final = ROOT / "deploy/helm/firesteel"
_LITTLE: Final = {"requests": {"cpu": "50m", "memory": "256Mi"}}
_VOLUME: Final = """\
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteMany]
  storageClassName: by-hand
  hostPath: {{path: {path}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: by-hand
  volumeName: {name}
  resources: {{requests: {{storage: 1Gi}}}}
"""


def prepare(kubernetes: Kubernetes, shared: Path) -> None:
    """The secret and the volume that a release needs: what its pods share is in the directory *shared*."""
    kubernetes.kubectl("apply", "-f", "-", given=_VOLUME.format(name=CLAIM, path=shared))
    secret = ("create", "secret", "generic", f"{NAME}-auth", f"--from-literal=tokens=submit {TOKEN}")
    kubernetes.kubectl(*secret)


class Release:
    """:param image: ``NAME:TAG``, of one that the node has. :param values: over those of every release."""

    def __init__(self, kubernetes: Kubernetes, image: str, place: Path, **values: Any) -> None:
        self._kubernetes = kubernetes
        self._file = place / "values.yaml"
        self.rest = Struck(self._place)
        repository, tag = image.split(":")
        configuration = {"execution.checkpointing.interval": "500 ms", "spark.executor.memory": "512m"}
        self.values: dict[str, Any] = {
            "image": {"repository": repository, "tag": tag},
            "storage": {"existingClaim": CLAIM},
            "configuration": configuration,
            "dispatcher": {"resources": _LITTLE},
            "application": {"resources": _LITTLE},
            "spark": {"master": {"resources": _LITTLE}, "worker": {"cores": 1, "resources": _LITTLE}},
        }
        self.change(**values)

    def change(self, **values: Any) -> None:
        """Other values, for the next ``upgrade``: they are merged as Helm merges them."""
        _merge(self.values, values)
        self._file.write_text(yaml.safe_dump(self.values))

    def install(self) -> None:
        self._helm("install", NAME, _CHART, "-f", self._file)

    def upgrade(self) -> None:
        self._helm("upgrade", NAME, _CHART, "-f", self._file)

    def uninstall(self) -> None:
        """And wait until all that it has started is gone."""
        self._helm("uninstall", NAME)
        until(lambda: not self.pods(), lambda: f"there are still {self.pods()}", 120, look_s=0.5)

    def _helm(self, *words: str | Path) -> None:
        command = [BINARIES / "helm", "--kubeconfig", self._kubernetes.kubeconfig, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience(120))
        assert done.returncode == 0, done.stderr

    # ---- its pods

    def pods(self, component: str = "", phase: str = "") -> list[str]:
        labels = f"app.kubernetes.io/instance={NAME}"
        if component:
            labels += f",app.kubernetes.io/component={component}"
        found = self._kubernetes.get("pods", "-l", labels)
        return [pod["metadata"]["name"] for pod in found if phase in ("", pod["status"]["phase"])]

    def said(self, component: str) -> str:
        """The state of pods and the end of their logs, for messages."""
        labels = f"app.kubernetes.io/instance={NAME},app.kubernetes.io/component={component}"
        return "\n".join(
            self._kubernetes.kubectl(*words, "-l", labels)
            for words in (("get", "pods"), ("logs", "--all-containers", "--tail", "20"))
        )

    def strike(self, pod: str) -> None:
        """A pod is gone without having been asked to end."""
        self._kubernetes.kubectl("delete", "pod", pod, "--grace-period=0", "--force")

    def run(self, pod: str, *words: str, container: str) -> str:
        """What a command prints in a pod."""
        variables = ("env", f"FIRESTEEL_REST_TOKEN={TOKEN}")
        return self._kubernetes.kubectl("exec", pod, "-c", container, "--", *variables, *words)

    # ---- its REST API

    def _place(self) -> tuple[str, int]:
        """The address of the service."""
        service = json.loads(self._kubernetes.kubectl("get", "service", NAME, "-o", "json"))
        return service["spec"]["clusterIP"], 8081

    def submit(self, output: str, rate: int) -> str:
        """The id of the job of the tests, on a session cluster."""
        self.rest.answers(partial(self.said, "session"), 180)
        (pod, *_) = self.pods("session")
        command = ("firesteel", "run", "-m", f"{NAME}:8081", "-d", PROGRAM, output, str(rate))
        return submitted(self.run(pod, *command, container="dispatcher"))


@contextmanager
def installed(release: Release) -> Iterator[Release]:
    try:
        release.install()
        yield release
    finally:
        release.uninstall()


def _merge(values: dict[str, Any], others: dict[str, Any]) -> None:
    for key, value in others.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            _merge(values[key], value)
        else:
            values[key] = value
