"""The chart for Helm: what it makes is valid, belongs together, and is what our commands understand."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import helm_python as helm
import kubernetes_validate
import pytest
import yaml
from starlette.testclient import TestClient

from deploy.kubernetes.render import CHART, FOLDER, HEAD, MANIFESTS, render
from firesteel.cluster import standby
from firesteel.common.configuration import Configuration
from firesteel.common.options.checks import check
from firesteel.jobmanager.leadership import stores
from firesteel.rest.cluster import Cluster
from firesteel.rest.credentials import credentials
from firesteel.rest.settings import rest_settings
from firesteel.version import __version__
from tests.rest.support import api
from tests.test_deployment import parsed

PAGE = (FOLDER.parents[1] / "docs" / "deployment.md").read_text()
PROGRAM: dict[str, Any] = {"mode": "application", "application": {"program": "/opt/program/main.py"}}
RELEASES: dict[str, dict[str, Any]] = {
    "session": {},
    "standby": {"dispatcher": {"replicas": 2}},
    "application": PROGRAM,
    "everything": {
        "image": {"repository": "registry:5000/firesteel", "tag": "x", "pullSecrets": ["registry"]},
        "auth": {"secret": "tokens"},
        "storage": {"existingClaim": "nfs"},
        "networkPolicy": {"enabled": False},
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "streaming", "operator": "Exists"}],
    },
}
#: Spark starts the executors as pods.
PODS: dict[str, Any] = {
    "spark": {"manager": "kubernetes", "executor": {"instances": 3, "cores": 4, "cpu": "500m"}}
}
RELEASES |= {
    "executors": PODS,
    "executors of a program": PROGRAM | PODS,
    "executors with everything": RELEASES["everything"] | PODS,
}
Objects = dict[tuple[str, str], Any]


def objects_of(values: dict[str, Any], **release: Any) -> Objects:
    """By kind and name."""
    found = [document for document in yaml.safe_load_all(render(values, **release)) if document]
    named = {(document["kind"], document["metadata"]["name"]): document for document in found}
    assert len(named) == len(found)
    return named


@pytest.fixture(scope="module", params=list(RELEASES))
def objects(request: pytest.FixtureRequest) -> Objects:
    return objects_of(RELEASES[request.param])


@pytest.fixture(scope="module")
def session() -> Objects:
    return objects_of({})


def executor_of(objects: Objects) -> Any:
    """What Spark makes its executors of; None: it starts none as pods."""
    text = objects["ConfigMap", "firesteel"]["data"].get("executor.yaml")
    return yaml.safe_load(text) if text else None


def pods(objects: Objects) -> list[tuple[dict[str, str], Any]]:
    """The labels and the specification of each pod."""
    templates = [o["spec"]["template"] for (kind, _), o in objects.items() if kind in ("Deployment", "Job")]
    executor = executor_of(objects)
    templates += [executor] if executor else []
    return [(template["metadata"]["labels"], template["spec"]) for template in templates]


def containers(objects: Objects) -> Iterator[tuple[Any, Any]]:
    """Each container with its pod."""
    for _, pod in pods(objects):
        for container in pod["containers"] + pod.get("initContainers", []):
            yield container, pod


def settings_of(objects: Objects) -> dict[str, str]:
    found: dict[str, str] = yaml.safe_load(objects["ConfigMap", "firesteel"]["data"]["config.yaml"])
    return found


def configuration_of(objects: Objects, tmp_path: Path) -> Configuration:
    """The settings with a file of tokens that is there."""
    tokens = tmp_path / "tokens"
    tokens.write_text("operate TOKEN-OF-SOME-LENGTH\n")
    tokens.chmod(0o600)
    return Configuration.from_dict({**settings_of(objects), "rest.auth.file": str(tokens)})


@pytest.mark.row("S-DEPLOY-06")
@pytest.mark.parametrize("file", list(MANIFESTS))
def test_the_manifests_are_what_the_chart_makes(file: str) -> None:
    assert (FOLDER / file).read_text() == HEAD + render(MANIFESTS[file]), "run deploy/kubernetes/render.py"


@pytest.mark.parametrize("values", RELEASES.values(), ids=list(RELEASES))
def test_helm_has_nothing_against_the_chart(values: dict[str, Any]) -> None:
    report = helm.lint(CHART, values, strict=True)
    assert report["errors"] == []
    assert [m["error"] for m in report["messages"]] == ["icon is recommended"]
    with helm.Chart.load(CHART) as chart:
        assert (chart.version, chart.metadata["appVersion"]) == (__version__, __version__)


@pytest.mark.row("S-DEPLOY-06")
@pytest.mark.parametrize("version", ["1.27", "1.37"])
def test_kubernetes_knows_all_fields(objects: Objects, version: str) -> None:
    executor = executor_of(objects)
    for found in [*objects.values(), *([executor] if executor else [])]:
        kubernetes_validate.validate(found, version, strict=True)
    wrong = copy.deepcopy(next(o for (kind, _), o in objects.items() if kind == "Service"))
    wrong["spec"]["ports"][0]["tragetPort"] = "rest"
    with pytest.raises(kubernetes_validate.ValidationError, match="tragetPort"):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_objects_find_each_other(objects: Objects) -> None:
    claims = {name for kind, name in objects if kind == "PersistentVolumeClaim"} or {"nfs"}
    for (kind, name), found in objects.items():
        if kind == "Deployment":
            wanted = found["spec"]["selector"]["matchLabels"].items()
            assert wanted <= found["spec"]["template"]["metadata"]["labels"].items(), name
        if kind == "Service":
            (pod,) = [p for labels, p in pods(objects) if found["spec"]["selector"].items() <= labels.items()]
            ports = {port["name"] for c in pod["containers"] for port in c["ports"]}
            assert {port["targetPort"] for port in found["spec"]["ports"]} <= ports, name
        if kind == "NetworkPolicy":
            wanted = found["spec"]["podSelector"]["matchLabels"].items()
            assert [p for labels, p in pods(objects) if wanted <= labels.items()], name
    for container, pod in containers(objects):
        volumes = {volume["name"]: volume for volume in pod["volumes"]} if "volumes" in pod else {}
        assert {mount["name"] for mount in container.get("volumeMounts", [])} <= volumes.keys()
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for volume in volumes.values():
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in objects
    assert {c["image"] for c, _ in containers(objects)} in (
        {f"firesteel:{__version__}"},
        {"registry:5000/firesteel:x"},
    )


def test_the_settings_are_known_and_fit(objects: Objects, tmp_path: Path) -> None:
    settings, configuration = settings_of(objects), configuration_of(objects, tmp_path)
    check(configuration)
    rest = rest_settings(configuration)
    services = {name: o for (kind, name), o in objects.items() if kind == "Service"}
    if executor_of(objects) is None:
        spark = re.fullmatch(r"spark://([\w-]+):(\d+)", settings["spark.master"])
        assert spark is not None
        assert [port["port"] for port in services[spark[1]]["spec"]["ports"]] == [int(spark[2])]
    else:
        assert settings["spark.master"] == "k8s://https://kubernetes.default.svc"
        assert services.keys() == {"firesteel"}
    (driver,) = [c for c, _ in containers(objects) if c["name"] in ("dispatcher", "driver")]
    assert {port["containerPort"] for port in driver["ports"]} == {
        *rest.ports,
        int(settings["spark.driver.port"]),
        int(settings["spark.blockManager.port"]),
    }


def test_the_commands_are_ours(objects: Objects) -> None:
    (ours,) = [c["args"] for c, _ in containers(objects) if c.get("args", [""])[0] == "firesteel"]
    program = PROGRAM["application"]["program"]  # the command wants one that is there
    found = parsed([__file__ if word == program else word for word in ours]).params
    defined = dict(word.split("=") for word in found["definitions"])
    wanted = {"spark.driver.host": "$(POD_IP)", "rest.address": "$(POD_IP)"}
    if executor_of(objects) is not None:
        wanted["spark.kubernetes.driver.pod.name"] = "$(POD_NAME)"
    assert defined == wanted
    (driver,) = [c for c, _ in containers(objects) if c["name"] in ("dispatcher", "driver")]
    variables = {variable["name"] for variable in driver["env"]}
    assert set(re.findall(r"\$\((\w+)\)", " ".join(ours))) <= variables
    assert found.get("rest", "") == ""
    assert found.get("script", __file__) == __file__
    assert found.get("foreground", True)


def test_those_who_lead_may_have_the_lease_and_nothing_else(
    session: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = objects_of(RELEASES["standby"])
    taken: list[tuple[str, str]] = []
    monkeypatch.setattr(stores, "KubernetesLease", lambda *names, **_: taken.append(names[:2]))
    configuration = configuration_of(objects, tmp_path)
    stores.store_of(configuration)
    ((lease, namespace),) = taken
    rules = objects["Role", "firesteel"]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "create", "update"}
    assert [rule["resourceNames"] for rule in rules if rule["verbs"] != ["create"]] == [[lease]]
    binding = objects["RoleBinding", "firesteel"]
    assert binding["roleRef"]["name"] == "firesteel"
    assert [(s["name"], s["namespace"]) for s in binding["subjects"]] == [("firesteel", namespace)]
    accounts = {
        pod.get("serviceAccountName"): pod["automountServiceAccountToken"] for _, pod in pods(objects)
    }
    assert accounts == {"firesteel": True, None: False}
    assert ("ServiceAccount", "firesteel") in objects
    assert not [kind for kind, _ in session if kind in ("ServiceAccount", "Role", "RoleBinding")]
    assert {pod["automountServiceAccountToken"] for _, pod in pods(session)} == {False}
    # A second dispatcher finds the jobs that the only one has had.
    assert str(standby.shared_directory(configuration)) == settings_of(session)["firesteel.cluster.dir"]


@pytest.mark.row("S-DEPLOY-06")
@pytest.mark.parametrize("mode", [{}, PROGRAM], ids=["session", "application"])
def test_executors_that_spark_starts_as_pods(mode: dict[str, Any]) -> None:
    objects = objects_of(mode | PODS)
    settings = settings_of(objects)
    assert not [name for kind, name in objects if name.startswith("firesteel-spark")]  # no master, no workers
    assert {key: value for key, value in settings.items() if "executor" in key} == {
        "spark.executor.cores": "4",
        "spark.executor.instances": "3",
        "spark.executor.memory": "1g",
        "spark.kubernetes.executor.podTemplateFile": "/etc/firesteel/executor.yaml",
        "spark.kubernetes.executor.request.cores": "500m",
    }
    assert settings["spark.kubernetes.container.image"] == f"firesteel:{__version__}"
    assert "spark.driver.bindAddress" not in settings  # Spark would tell its executors to connect to it
    # They reach the pods of the release, and its volume, and nobody but the driver may talk to Kubernetes.
    executor = executor_of(objects)
    policy = objects["NetworkPolicy", "firesteel"]["spec"]["podSelector"]["matchLabels"]
    assert policy.items() <= executor["metadata"]["labels"].items()
    assert executor["spec"]["containers"][0]["volumeMounts"] == [{"name": "shared", "mountPath": "/shared"}]
    assert executor["spec"]["automountServiceAccountToken"] is False
    (driver,) = [pod for labels, pod in pods(objects) if labels["app.kubernetes.io/component"] != "executor"]
    assert (driver["serviceAccountName"], driver["automountServiceAccountToken"]) == ("firesteel", True)
    (rule,) = objects["Role", "firesteel"]["rules"]
    assert rule["resources"] == ["pods", "configmaps", "persistentvolumeclaims"]
    assert "*" not in rule["verbs"]


def test_a_dispatcher_is_ready_when_it_leads(session: Objects, tmp_path: Path) -> None:
    settings = rest_settings(configuration_of(session, tmp_path))
    (dispatcher,) = [c for c, _ in containers(session) if c["name"] == "dispatcher"]
    path = dispatcher["readinessProbe"]["httpGet"]["path"]
    with api(cast("Cluster", None), settings, credentials(settings)) as leader:  # nobody gets as far as that
        assert leader.get("/v1/overview").status_code == 401
        assert leader.get(path).status_code == 200
    with TestClient(standby._app(lambda: "http://10.0.0.1:8081")) as stands_by:
        assert stands_by.get(path).status_code == 503


def test_a_driver_that_is_started_again_has_the_same_job() -> None:
    first, second = objects_of(PROGRAM), objects_of(PROGRAM, revision=2)
    assert ("Job", "firesteel-1") in first
    assert ("Job", "firesteel-2") in second
    key = "$internal.pipeline.job-id"
    assert re.fullmatch("[0-9a-f]{32}", settings_of(first)[key])
    assert settings_of(first)[key] == settings_of(second)[key]
    named = {**PROGRAM, "application": {**PROGRAM["application"], "jobId": "a" * 32, "args": ["--rate", "5"]}}
    assert settings_of(objects_of(named))[key] == "a" * 32
    assert objects_of(named)["Job", "firesteel-1"]["spec"]["template"]["spec"]["containers"][0]["args"][
        -3:
    ] == ["/opt/program/main.py", "--rate", "5"]


def test_the_users_settings_win_and_are_what_they_were() -> None:
    mine = {"rest.auth": "basic", "firesteel.epoch.max-records": 1_000_000, "slot.enforce": True, "a.b": 0.5}
    found = settings_of(objects_of({"configuration": mine}))
    assert {key: found[key] for key in mine} == {
        "rest.auth": "basic",
        "firesteel.epoch.max-records": "1000000",
        "slot.enforce": "true",
        "a.b": "0.5",
    }
    tls = objects_of({"configuration": {"security.ssl.rest.enabled": True}})
    (dispatcher,) = [c for c, _ in containers(tls) if c["name"] == "dispatcher"]
    assert dispatcher["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"mode": "per-job"}, "mode"),
        ({"mode": "application"}, "program"),
        ({"mode": "application", "application": {"program": "main.py"}}, "program"),
        ({"application": {"jobId": "my-job"}}, "jobId"),
        ({"dispatcher": {"replicas": 0}}, "replicas"),
        ({"dispatcher": {"replica": 2}}, "replica"),
        ({"spark": {"worker": {"memory": "1Gi"}}}, "memory"),
        ({"spark": {"manager": "mesos"}}, "manager"),
        ({"spark": {"executor": {"cores": 0}}}, "cores"),
        ({"spark": {"worker": {"resources": {"limits": {"memory": "much"}}}}}, "memory"),
        ({"configuration": {"spark.executor": {"memory": "1g"}}}, "configuration"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(helm.HelmError, match=says):
        render(values)


def test_a_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(helm.HelmError, match="more than 40 characters"):
        render({}, name="f" * 41)


def test_the_page_names_the_secret_and_all_values() -> None:
    assert "secret generic firesteel-auth --from-literal=tokens=" in PAGE
    with helm.Chart.load(CHART) as chart:
        assert [value for value in chart.values if f"`{value}" not in PAGE] == []
