"""The structs of the bodies are those of a real Flink 2.3: its recorded answers go through them unchanged."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from firesteel.rest.cached import encode
from firesteel.rest.handlers.table import FLINK, places
from firesteel.rest.messages.base import Errors
from firesteel.rest.routes import Route
from tests.rest.support import Example, examples

ROUTES = {f"{route.method} {route.path}": route for route in FLINK}
#: What we never answer: endpoints that refuse, pictures that nobody takes.
REFUSED = {e for e, route in ROUTES.items() if route.doc.startswith("Refused")}
NEVER = {"GET /jobs/{jobid}/vertices/{vertexid}/flamegraph", "POST /jobs"} | REFUSED


def good(example: Example) -> bool:
    return example.status < 300 and example.text is None and example.endpoint not in NEVER


def without(body: Any, name: str) -> Any:
    return {key: value for key, value in body.items() if key != name} if isinstance(body, dict) else body


def identified(example: Example) -> str:
    return f"{example.endpoint}, {example.when}"


@pytest.mark.parametrize("example", [e for e in examples() if good(e)], ids=identified)
def test_a_recorded_answer_is_read_and_written_as_it_was(example: Example) -> None:
    """Names of fields, types, what may be null and what absent: all would show."""
    answer = ROUTES[example.endpoint].answer
    read = msgspec.json.decode(json.dumps(example.body), type=answer)
    # The scheduler AdaptiveBatch alone has this one.
    assert json.loads(encode(read)) == without(example.body, "stream-graph")


@pytest.mark.parametrize("example", [e for e in examples() if e.status >= 400], ids=identified)
def test_a_recorded_refusal_is_read(example: Example) -> None:
    assert msgspec.json.decode(json.dumps(example.body), type=Errors).errors


@pytest.mark.parametrize("example", [e for e in examples() if e.sent is not None], ids=identified)
def test_a_recorded_request_is_read_as_flink_read_it(example: Example) -> None:
    body = ROUTES[example.endpoint].body
    if body is None:
        return
    sent = re.sub(r"\{\w+:given by the client\}", "1" * 32, json.dumps(example.sent))
    # What bounds say is looked at when they are read, and whether a class is there when it is looked for.
    if example.status < 300 or example.status >= 500 or example.endpoint.startswith("PUT "):
        msgspec.json.decode(sent, type=body)
    else:
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(sent, type=body)


def test_each_status_of_a_good_answer_is_that_of_flink() -> None:
    for example in examples():
        if good(example):
            assert ROUTES[example.endpoint].status == example.status, example.endpoint


def test_structs_are_immutable() -> None:
    def structs(kind: Any) -> Any:
        return getattr(kind, "__args__", (kind,))

    for route in FLINK:
        for kind in structs(route.answer):
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                assert kind.__struct_config__.frozen, kind


def test_each_endpoint_is_served_with_and_without_its_version() -> None:
    served: dict[str, list[Route]] = {}
    for path, route in places():
        served.setdefault(path, []).append(route)
    for route in FLINK:
        assert route in served[route.path]
        assert route in served["/v1" + route.path]
    assert len({(path, route.method) for path, route in places()}) == len(places()), "one of them twice"
