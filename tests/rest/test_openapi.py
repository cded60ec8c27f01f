"""Our own description of the API, and requests that it allows and does not allow."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from firesteel.rest.app import make_app, make_context
from firesteel.rest.credentials import Anybody
from firesteel.rest.handlers.table import FLINK, places
from firesteel.rest.openapi import description
from firesteel.rest.settings import RestSettings
from tests.rest.jobs import Jobs
from tests.rest.support import BASE

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
]  # fmt: skip
#: It has no answer that is complete while the job runs; it ends the jobs of all other tests.
NOT_CALLED = {"/firesteel/v1/jobs/{jobid}/events", "/cluster", "/v1/cluster"}


def test_each_route_is_described() -> None:
    paths = description(places())["paths"]
    assert {(path, method.upper()) for path in paths for method in paths[path]} == {
        (path, route.method) for path, route in places()
    }
    for route in FLINK:
        operation = paths[route.path][route.method.lower()]
        assert str(route.status) in operation["responses"]
        parts = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert parts == {part[1:-1] for part in route.path.split("/") if part.startswith("{")}


def test_names_of_operations_are_unique() -> None:
    paths = description(places())["paths"]
    names = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(names) == len(set(names))


def test_it_is_served(jobs: Jobs) -> None:
    served = jobs.client.get("/firesteel/v1/openapi.json").json()
    assert served["openapi"] == "3.1.0"
    assert served["paths"].keys() == description(places())["paths"].keys()


@pytest.mark.timeout(280)
def test_requests_that_the_description_allows_and_others(jobs: Jobs) -> None:
    """Half of them have the ids of jobs and vertices that there are."""
    context = make_context(jobs.cluster, RestSettings())
    app = make_app(context, Anybody())
    known = {
        "jobid": list(jobs.ids.values()),
        "applicationid": list(jobs.ids.values()),
        "vertexid": [jobs.vertex("enrich"), jobs.vertex("count", "word count")],
        "subtaskindex": ["0", "1", "7"],
        "attempt": ["0", "1"],
        "checkpointid": ["1", "2"],
        "taskmanagerid": ["in-process"],
        "filename": ["firesteel.log"],
    }
    schema = schemathesis.openapi.from_asgi("/firesteel/v1/openapi.json", app, headers={"host": "localhost"})
    called = 0
    cancelling = (
        "/jobs/{jobid}",
        "/jobs/{jobid}/yarn-cancel",
        "/jobs/{jobid}/stop",
        "/jobs/{jobid}/savepoints",
    )
    for found in schema.get_all_operations():
        operation = found.ok()
        path = operation.path
        if path in NOT_CALLED or path.startswith("/v1/"):
            continue
        # Nothing may end the jobs that other tests read of.
        ends = operation.method.upper() != "GET" or path.endswith("yarn-cancel") or path in cancelling[1:]
        called += 1

        @settings(
            max_examples=12,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        )
        @schemathesis.hook if False else _given(operation)
        def call(case: Any, ends: bool = ends) -> None:
            values = dict(case.path_parameters or {})
            for name in values:
                if name in known and not ends and hash(values[name]) % 2:
                    values[name] = known[name][hash(values[name]) % len(known[name])]
            case.path_parameters = values
            answer = case.call(base_url=BASE, headers={"host": "localhost"})
            case.validate_response(answer, checks=CHECKS)

        call()
    assert called > 70


def _given(operation: Any) -> Any:
    from hypothesis import given

    return given(case=operation.as_strategy())
