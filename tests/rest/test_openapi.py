"""Our own description of the API, and requests that it allows and does not allow."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
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
    *(not_a_server_error, status_code_conformance),
    *(content_type_conformance, response_schema_conformance),
]
#: One has no answer that is complete while the job runs; the other ends the jobs of all other tests.
NOT_CALLED = {"/firesteel/v1/jobs/{jobid}/events", "/cluster"}
#: Always with 503, as by Flink.
REFUSED = {route.path for _, route in places() if any(status == 503 for status, _ in route.refusals)}


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


def operations(app: Any) -> list[Any]:
    schema = schemathesis.openapi.from_asgi("/firesteel/v1/openapi.json", app, headers={"host": "localhost"})
    found = [operation.ok() for operation in schema.get_all_operations()]
    others = ("/v1/", "/v2/", "/v3/", "/v4/")  # served without a version as well
    return [o for o in found if o.path not in NOT_CALLED and not o.path.startswith(others)]


def test_requests_that_the_description_allows_and_others(jobs: Jobs) -> None:
    """Reading endpoints get the ids of jobs and vertices that there are in half of the cases; those that
    change something never do, because other tests read of these jobs."""
    app = make_app(make_context(jobs.cluster, RestSettings()), Anybody())
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

    def fitting(name: str, value: Any) -> Any:
        choice = zlib.crc32(str(value).encode())
        values = known.get(name, [])
        return values[choice // 2 % len(values)] if values and choice % 2 else value

    called = operations(app)
    assert len(called) > 70
    for operation in called:
        reads = operation.method.upper() == "GET" and not operation.path.endswith("yarn-cancel")
        requests_to(operation, fitting if reads else lambda name, value: value)()


def requests_to(operation: Any, fitting: Callable[[str, Any], Any]) -> Callable[[], None]:
    @settings(
        max_examples=10,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        parameters = dict(case.path_parameters or {})
        case.path_parameters = {name: fitting(name, value) for name, value in parameters.items()}
        answer = case.call(base_url=BASE, headers={"host": "localhost"})
        # What Flink refuses with 503, and we with it, is not an error of the server.
        refused = answer.status_code == 503 and operation.path in REFUSED
        case.validate_response(
            answer, checks=[check for check in CHECKS if not (refused and check is not_a_server_error)]
        )

    return call  # type: ignore[no-any-return]
