"""The OpenAPI description of the API, made of the table of routes and the structs of the bodies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from firesteel.rest.messages.base import Errors
from firesteel.rest.routes import PARAMETERS, NoQuery, Route
from firesteel.version import __version__

_REFERENCE: Final = "#/components/schemas/{name}"
_BYTES: Final = {"type": "string", "format": "binary"}
_UPLOADS: Final[dict[str, dict[str, Any]]] = {
    "application/octet-stream": {"schema": _BYTES},
    "multipart/form-data": {
        "schema": {"type": "object", "required": ["jarfile"], "properties": {"jarfile": _BYTES}}
    },
}
_PART: Final = re.compile(r"\{(\w+)\}")
#: Refusals that any endpoint may give.
_REFUSALS: Final = {
    "400": "The path, the query or the body is not as it should be.",
    "401": "The server asks for credentials.",
    "403": "Not allowed.",
    "404": "There is no such thing.",
    "408": "The body did not come in time.",
    "413": "The body is too large.",
    "429": "There are too many operations already.",
    "500": "A mistake of the server, or what a user's code has raised.",
    "503": "Too many requests at once.",
}


def description(places: Iterable[tuple[str, Route]]) -> dict[str, Any]:
    """Describe the routes at the paths where they are served (OpenAPI 3.1)."""
    served = list(places)
    types = [t for _, route in served for t in (route.answer, route.query, route.body) if t is not None]
    schemas, components = msgspec.json.schema_components([*types, Errors], ref_template=_REFERENCE)
    found = dict(zip(map(_key, types), schemas, strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for path, route in served:
        paths.setdefault(path, {})[route.method.lower()] = _operation(path, route, found, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Firesteel REST API",
            "version": __version__,
            "description": "The REST API of Apache Flink 2.3, and additions below /firesteel/v1.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _key(kind: Any) -> str:
    return repr(kind)


def _operation(
    path: str, route: Route, schemas: dict[str, Any], components: dict[str, Any]
) -> dict[str, Any]:
    responses = {str(route.status): _answer(route, schemas)}
    refusal = _json({"$ref": _REFERENCE.format(name=Errors.__name__)})
    responses |= {
        status: {"description": text, "content": refusal}
        for status, text in (_REFUSALS | {str(status): text for status, text in route.refusals}).items()
        if status not in responses
    }
    found: dict[str, Any] = {
        "summary": route.doc,
        "operationId": _operation_id(path, route),
        "parameters": [*_path_parameters(path), *_query_parameters(route, components)],
        "responses": responses,
    }
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": _json(schemas[_key(route.body)])}
    if route.upload is not None:
        found["requestBody"] = {"required": True, "content": {route.upload: _UPLOADS[route.upload]}}
    return found


def _operation_id(path: str, route: Route) -> str:
    return re.sub(r"\W+", "_", f"{route.method.lower()}{path}").strip("_")


def _answer(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    if route.answer is None:
        text = {"schema": {"type": "string"}}
        kinds = ("text/plain", "text/event-stream", "text/html")
        return {"description": route.doc, "content": dict.fromkeys(kinds, text)}
    return {"description": route.doc, "content": _json(schemas[_key(route.answer)])}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    found = []
    for name in _PART.findall(path):
        schema: dict[str, Any] = {"type": "string", "minLength": 1}
        if name in PARAMETERS:
            schema["pattern"] = f"^{PARAMETERS[name].pattern}$"
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    return found


def _query_parameters(route: Route, components: dict[str, Any]) -> list[dict[str, Any]]:
    if route.query is NoQuery:
        return []
    schema = components[route.query.__name__]
    return [
        {"name": name, "in": "query", "required": False, "schema": of}
        for name, of in schema["properties"].items()
    ]
