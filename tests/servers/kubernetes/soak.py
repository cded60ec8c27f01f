"""Releases of the chart run on a real Kubernetes while pods of them are struck; what their job wrote is then
compared with what it must write, line by line.

    python -m tests.servers.kubernetes.soak [--runs N] [--seed S] [--report FILE] [KIND ...]

Needs root, and what scripts/fetch-kubernetes builds.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.kills import job
from tests.kills.outcomes import Journal, Outcome, Provenance
from tests.kills.report import report
from tests.servers.docker.engine import Docker
from tests.servers.kubernetes.cluster import RELEASE, Kubernetes
from tests.servers.kubernetes.release import NAME, PROGRAM, Release, installed, prepare
from tests.spark.standalone import SPARK_HOME
from tests.waiting import until

REPORT: Final = Path("docs/design/kubernetes.md")
_HEAD: Final = f"""\
# On a real Kubernetes

*What was run on a real Kubernetes, and what became of the job when pods died?*

The image of `deploy/docker/Dockerfile` and the chart of `deploy/helm`, installed by Helm 3 on Kubernetes
{RELEASE}: API server, controllers, scheduler, kubelet with containerd, kube-proxy and CoreDNS on one machine,
whose pods have addresses of their own. The volume that pods share is a directory of the node. Nothing there
enforces network policies.

A job with exactly-once sinks runs while pods are struck: deleted without being asked to end, or their process
killed. What it wrote is then compared with what it must write, line by line; and when the release has been
uninstalled, no pod of it is left. `make kubernetes` makes this report; beside it `{{journal}}` has a line for
each run.

"""
_OUTPUT: Final = "/shared/output"
_SUBMITTED: Final = "submitted"
_RATE: Final = 60  # so that the job lasts for a minute and a half
#: With a core for each task of the job, which then runs in real time.
_WITH_CORES: Final = {"manager": "kubernetes", "executor": {"instances": 2, "cores": 8, "cpu": "50m"}}
_EXECUTORS: Final = {"manager": "kubernetes", "executor": {"instances": 2, "cores": 1, "cpu": "50m"}}


class Run:
    """One run. ``strikes``: how many it has had."""

    def __init__(self, kubernetes: Kubernetes, image: str, seed: int, shared: Path, place: Path) -> None:
        self.kubernetes = kubernetes
        self.image = image
        self._place = place
        self._shared = shared
        self.chance = random.Random(seed)
        self.strikes = 0

    def release(self, **values: Any) -> Release:
        return Release(self.kubernetes, self.image, self._place, **values)

    def after_a_while(self, strike: Callable[[], None]) -> None:
        time.sleep(self.chance.uniform(0, 6))
        strike()
        self.strikes += 1

    def differences(self) -> str:
        return job.differences(self._shared / "output", may_leave=True)


def _session(run: Run, release: Release, component: str) -> str:
    """A session cluster whose executor dies, and then its dispatcher."""
    with installed(release):
        number = release.submit(_OUTPUT, _RATE)
        release.rest.goes_on(number)
        for struck in (component, "session"):
            run.after_a_while(lambda struck=struck: release.strike(run.chance.choice(release.pods(struck))))
            release.rest.goes_on(number)
        release.rest.finishes(number)
        return run.differences()


def standalone_spark(run: Run) -> str:
    return _session(run, run.release(), "worker")


def executors_as_pods(run: Run) -> str:
    return _session(run, run.release(spark=_EXECUTORS), "executor")


def in_real_time(run: Run) -> str:
    return _session(run, run.release(spark=_WITH_CORES), "executor")


def a_leader(run: Run) -> str:
    """Two dispatchers: the one that leads dies, twice."""
    release = run.release(spark=_EXECUTORS, dispatcher={"replicas": 2})

    def holder() -> str:
        (lease,) = run.kubernetes.get("lease", "--field-selector", f"metadata.name={NAME}-leader")
        return str(lease["spec"]["holderIdentity"])

    def leader() -> str:
        (found,) = [pod for pod in release.pods("session") if pod in holder()]
        return found

    with installed(release):
        number = release.submit(_OUTPUT, _RATE)
        for _ in range(2):
            release.rest.goes_on(number)
            led = holder()
            run.after_a_while(lambda: release.strike(leader()))
            until(lambda led=led: holder() != led, "nobody leads", 60, look_s=0.2)
        release.rest.finishes(number)
        return run.differences()


def _application(run: Run, spark: dict[str, Any], strike: Callable[[Release], None]) -> str:
    application = {"program": PROGRAM, "args": [_OUTPUT, str(_RATE)]}
    release = run.release(mode="application", application=application, spark=spark)

    def succeeded() -> bool:
        jobs = run.kubernetes.get("jobs")
        return any(found["status"].get("succeeded") for found in jobs)

    def number() -> str:
        found = release.rest.asked("/v1/jobs") or {"jobs": []}
        return next((entry["id"] for entry in found["jobs"]), "")

    with installed(release):
        known = until(number, lambda: release.said("application"), 180, look_s=0.5)
        release.rest.goes_on(known)
        run.after_a_while(lambda: strike(release))
        until(lambda: number() == known, lambda: release.said("application"), 180, look_s=0.5)
        until(succeeded, lambda: release.said("application"), 300, look_s=1)
        if spark:
            # Those of a driver that was killed have ended, and go with its pod.
            run_on = partial(release.pods, "executor", "Running")
            until(lambda: not run_on(), "executors outlive the program", 60, look_s=0.5)
        return run.differences()


def a_killed_program(run: Run) -> str:
    return _application(run, {}, _kill_driver)


def a_killed_program_with_executors_as_pods(run: Run) -> str:
    return _application(run, _EXECUTORS, _kill_driver)


def _kill_driver(release: Release) -> None:
    (pod,) = release.pods("application")
    release.run(pod, "pkill", "-KILL", "firesteel", container="driver")


def an_upgrade(run: Run) -> str:
    """``helm upgrade`` with other settings while the program runs: the next revision goes on with its job."""

    def upgrade(release: Release) -> None:
        release.change(configuration={"execution.checkpointing.interval": "300 ms"})
        release.upgrade()

    return _application(run, _EXECUTORS, upgrade)


def spark_submit(run: Run) -> str:
    """Spark's own cluster mode: it starts the driver as a pod, of our image, and that its executors.

    Who submits may do all: Spark makes a service of the driver. The driver's account has the chart's role."""
    kubernetes = run.kubernetes
    release = run.release(spark=_EXECUTORS)
    with installed(release):
        release.rest.answers(partial(release.said, "session"), 180)
        # The chart's own account gives its token to the chart's pods only.
        for words in (
            ("serviceaccount", _SUBMITTED),
            ("rolebinding", _SUBMITTED, f"--role={NAME}", f"--serviceaccount=default:{_SUBMITTED}"),
        ):
            kubernetes.kubectl("create", *words)
        label, volume = "label.app.kubernetes.io", "volumes.persistentVolumeClaim.shared"
        settings = {
            "spark.executor.instances": "1",
            "spark.kubernetes.submission.waitAppCompletion": "false",
            "spark.kubernetes.driver.request.cores": "50m",
            "spark.kubernetes.executor.request.cores": "50m",
            "spark.kubernetes.authenticate.driver.serviceAccountName": _SUBMITTED,
            f"spark.kubernetes.driver.{label}/component": _SUBMITTED,
            "spark.kubernetes.container.image": run.image,
            **{
                f"spark.kubernetes.{role}.{volume}.{key}": value
                for role in ("driver", "executor")
                for key, value in (("mount.path", "/shared"), ("options.claimName", "shared"))
            },
        }
        conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        done = subprocess.run(
            [
                *(SPARK_HOME / "bin/spark-submit", "--master", f"k8s://https://{kubernetes.address}:6443"),
                *("--deploy-mode", "cluster", *conf, f"local://{PROGRAM}", _OUTPUT, str(4 * _RATE)),
            ],
            env={**os.environ, "KUBECONFIG": str(kubernetes.kubeconfig), "SPARK_HOME": str(SPARK_HOME)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]

        def driver() -> Any:
            (found,) = kubernetes.get("pods", "-l", f"app.kubernetes.io/component={_SUBMITTED}")
            return found

        def has_ended() -> bool:
            return driver()["status"]["phase"] in ("Succeeded", "Failed")

        def said() -> str:
            return kubernetes.kubectl("logs", driver()["metadata"]["name"], "--tail", "40")

        until(has_ended, said, 300, look_s=1)
        assert driver()["status"]["phase"] == "Succeeded", said()
        differences = run.differences()
        for kind, name in (
            ("pod", driver()["metadata"]["name"]),
            ("rolebinding", _SUBMITTED),
            ("serviceaccount", _SUBMITTED),
        ):
            kubernetes.kubectl("delete", kind, name)
        return differences


KINDS: Final[dict[str, Callable[[Run], str]]] = {
    "session, standalone Spark: worker, then dispatcher": standalone_spark,
    "session, executors as pods: executor, then dispatcher": executors_as_pods,
    "session in real time, executors as pods: executor, then dispatcher": in_real_time,
    "two dispatchers: the leader, twice": a_leader,
    "application, standalone Spark: driver": a_killed_program,
    "application, executors as pods: driver": a_killed_program_with_executors_as_pods,
    "application: helm upgrade": an_upgrade,
    "spark-submit --deploy-mode cluster": spark_submit,
}


def one_run(kubernetes: Kubernetes, image: str, kind: str, seed: int, shared: Path) -> Outcome:
    begun = time.monotonic()
    for found in shared.iterdir():
        shutil.rmtree(found)
    with tempfile.TemporaryDirectory(prefix="firesteel-kubernetes-") as place:
        run = Run(kubernetes, image, seed, shared, Path(place))
        try:
            failure = KINDS[kind](run)
        except Exception:
            failure = traceback.format_exc(limit=-3)
    return Outcome(kind, seed, run.strikes, time.monotonic() - begun, failure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the first run of each kind")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], metavar="KIND", help="\n".join(KINDS))
    arguments = parser.parse_args()
    file: Path = arguments.report
    lines = file.with_suffix(".jsonl")
    journal = Journal(lines, Provenance.of_this_tree([file, lines]))
    with tempfile.TemporaryDirectory(prefix="firesteel-kubernetes-", ignore_cleanup_errors=True) as work:
        place = Path(work)
        for name in ("docker", "kubernetes", "shared"):
            (place / name).mkdir()
        (place / "shared").chmod(0o777)
        docker = Docker(place / "docker").start()
        kubernetes = Kubernetes(place / "kubernetes")
        try:
            image = docker.build_program(docker.build())
            kubernetes.start()
            archive = place / "image.tar"
            docker("save", "-o", archive, image)
            kubernetes.take_image(archive)
            prepare(kubernetes, place / "shared")
            for kind in arguments.kinds or KINDS:
                left, first = journal.missing(kind, arguments.runs, arguments.seed)
                for seed in range(first, first + left):
                    outcome = one_run(kubernetes, image, kind, seed, place / "shared")
                    print(f"{outcome.seconds:6.1f} s  {outcome}", flush=True)
                    journal.add(outcome)
                    file.write_text(
                        report(journal.entries, list(KINDS), arguments.runs, {}, lines.name, _HEAD)
                    )
        finally:
            kubernetes.stop()
            docker.stop()
    sys.exit(any(outcome.failure for outcome in journal))


if __name__ == "__main__":
    main()
