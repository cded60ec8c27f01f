"""What the tests of the REST API share: the recorded answers of a real Flink 2.3, jobs, a client."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from firesteel.jobmanager.executor import Executor
from firesteel.program.execution import get_executor
from firesteel.rest.app import make_app, make_context
from firesteel.rest.cluster import Cluster
from firesteel.rest.credentials import Anybody, Credentials
from firesteel.rest.local import LocalCluster
from firesteel.rest.settings import RestSettings
from tests.waiting import until

RECORDED = Path(__file__).parent / "recorded"
UNKNOWN = "0" * 32
BASE = "http://localhost:8081"
_PLACEHOLDER = re.compile(r"\{(?:job|vertex|trigger|application|slotSharingGroup|rescale)[^{}]*\}")


@dataclass(frozen=True)
class Example:
    """One answer of a real Flink."""

    endpoint: str
    when: str
    request: str
    status: int
    body: Any = None
    sent: Any = None
    text: str | None = None


def _ids(text: str) -> str:
    """Placeholders of ids as ids."""
    return _PLACEHOLDER.sub(lambda found: hashlib.sha256(found.group().encode()).hexdigest()[:32], text)


@cache
def examples() -> tuple[Example, ...]:
    found = []
    for file in sorted(RECORDED.glob("*.json")):
        recorded = json.loads(file.read_text())
        for example in recorded["examples"]:
            body = json.loads(_ids(json.dumps(example.get("body"))))
            found.append(Example(recorded["endpoint"], **{**example, "body": body}))
    return tuple(found)


def recorded(endpoint: str, *whens: str, status: int = 200) -> list[Example]:
    """The answers of an endpoint, those of some situations or all; there must be some."""
    found = [e for e in examples() if e.endpoint == endpoint and e.status == status]
    found = [e for e in found if e.when in whens] if whens else found
    assert found, (endpoint, whens, status)
    return found


def recorded_endpoints() -> set[str]:
    return {example.endpoint for example in examples()}


def as_recorded(endpoint: str, status: int, body: Any, *whens: str) -> list[str]:
    """Where an answer does not look as those of Flink with this status, in some situations or in all."""
    theirs = [example.body for example in recorded(endpoint, *whens, status=status)]
    return differences(shape_of([body]), shape_of(theirs))


# ---- shapes

Kind = str


def kind_of(value: Any) -> Kind:
    """The type of a value in JSON; the text "NaN" is a number."""
    if value == "NaN":
        return "number"
    for types, name in ((bool, "boolean"), ((int, float), "number"), (str, "text"), (list, "list")):
        if isinstance(value, types):  # type: ignore[arg-type]
            return name
    return "null" if value is None else "object"


@dataclass
class Shape:
    """What values at one place look like."""

    kinds: set[Kind] = field(default_factory=set)
    fields: dict[str, Shape] = field(default_factory=dict)
    always: set[str] | None = None  # the fields that each object has
    items: Shape | None = None

    def add(self, value: Any) -> Shape:
        self.kinds.add(kind_of(value))
        if isinstance(value, dict):
            names = {_name(key) for key in value}
            self.always = names if self.always is None else self.always & names
            for key, inner in value.items():
                self.fields.setdefault(_name(key), Shape()).add(inner)
        elif isinstance(value, list):
            self.items = self.items or Shape()
            for inner in value:
                self.items.add(inner)
        return self


#: Objects whose fields are names of something, not of the API.
MAPS = {"$.applications[].jobs"}


def _name(key: str) -> str:
    """Ids as names of fields are all one."""
    return "{id}" if re.fullmatch(r"[0-9a-f]{32}", key) else key


def shape_of(values: list[Any]) -> Shape:
    found = Shape()
    for value in values:
        found.add(value)
    return found


def differences(ours: Shape, theirs: Shape, path: str = "$", may: frozenset[str] = frozenset()) -> list[str]:
    """Where our values do not look as theirs.

    :param may: paths of fields that may be null, or may be absent, though theirs are not.
    """
    if not ours.kinds or not theirs.kinds:
        return []
    extra = ours.kinds - theirs.kinds - ({"null"} if path in may else set())
    found = [f"{path}: {sorted(extra)}, Flink has {sorted(theirs.kinds)}"] if extra else []
    if path in MAPS:
        return found
    if ours.always is not None and theirs.always is not None:
        missing = theirs.always - ours.fields.keys() - {"{id}"}
        found += [f"{path}.{name}: missing" for name in sorted(missing) if f"{path}.{name}" not in may]
        added = ours.fields.keys() - theirs.fields.keys() - {"{id}"}
        found += [f"{path}.{name}: Flink has no such field" for name in sorted(added)]
        for name in ours.fields.keys() & theirs.fields.keys():
            found += differences(ours.fields[name], theirs.fields[name], f"{path}.{name}", may)
    if ours.items is not None and theirs.items is not None:
        found += differences(ours.items, theirs.items, f"{path}[]", may)
    return found


# ---- a client


@contextmanager
def api(
    cluster: Cluster, settings: RestSettings | None = None, credentials: Credentials | None = None
) -> Iterator[TestClient]:
    """A client of the application, without a port."""
    context = make_context(cluster, settings or RestSettings())
    app = make_app(context, credentials or Anybody())
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@contextmanager
def served(settings: RestSettings | None = None) -> Iterator[tuple[TestClient, LocalCluster]]:
    """A client for the jobs that the present executor runs from now on."""
    executor = get_executor()
    assert isinstance(executor, Executor)
    cluster = LocalCluster(executor, (("parallelism.default", "2"),))
    try:
        with api(cluster, settings) as client:
            yield client, cluster
    finally:
        cluster.close()


def finished(client: TestClient, path: str) -> dict[str, Any]:
    """What came of an operation."""

    def result() -> Any:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.json()["status"]["id"] == "COMPLETED" else None

    return until(result)  # type: ignore[no-any-return]
