"""A schema registry that speaks Confluent's protocol, as far as Avro clients use it: a process of its own.

    python server.py [--user NAME:PASSWORD]

It prints its port. Subjects, versions and ids are as the real one gives them: a schema has one id, whatever
the subject, and is registered under a subject once. Paths under ``/test`` are for tests: the requests it got,
and how many of the next it answers with an error.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Answer = tuple[int, Any]


class Registry:
    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []  # the id is the index, from 1
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.failing: list[int] = []

    def by_id(self, number: str) -> Answer:
        index = int(number)
        if not 0 < index <= len(self.schemas):
            return 404, {"error_code": 40403, "message": f"Schema {index} not found"}
        return 200, self.schemas[index - 1]

    def register(self, subject: str, body: dict[str, Any]) -> Answer:
        try:
            json.loads(body["schema"])
        except ValueError:
            return 422, {"error_code": 42201, "message": "Invalid schema"}
        found = self._index(body)
        if found is None:
            kept = {k: v for k, v in body.items() if k in ("schema", "references") or v != "AVRO"}
            self.schemas.append(kept)
            found = len(self.schemas)
        versions = self.subjects.setdefault(subject, [])
        if found not in versions:
            versions.append(found)
        return 200, {"id": found}

    def lookup(self, subject: str, body: dict[str, Any]) -> Answer:
        if subject not in self.subjects:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        found = self._index(body)
        if found not in self.subjects[subject]:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, self._version(subject, self.subjects[subject].index(found))

    def version(self, subject: str, version: str) -> Answer:
        versions = self.subjects.get(subject, [])
        index = len(versions) - 1 if version == "latest" else int(version) - 1
        if not 0 <= index < len(versions):
            return 404, {"error_code": 40402, "message": "Version not found."}
        return 200, self._version(subject, index)

    def _version(self, subject: str, index: int) -> dict[str, Any]:
        found = self.subjects[subject][index]
        return {"subject": subject, "version": index + 1, "id": found, **self.schemas[found - 1]}

    def _index(self, body: dict[str, Any]) -> int | None:
        wanted = json.loads(body["schema"]), body.get("references")
        for number, kept in enumerate(self.schemas, start=1):
            if (json.loads(kept["schema"]), kept.get("references")) == wanted:
                return number
        return None


def handler(registry: Registry, user: str | None) -> type[BaseHTTPRequestHandler]:
    wanted = None if user is None else "Basic " + base64.b64encode(user.encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve(None)

        def do_POST(self) -> None:
            self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _serve(self, body: Any) -> None:
            status, answer = self._answer(urlsplit(self.path).path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _answer(self, path: str, body: Any) -> Answer:
            if path == "/test/requests":
                return 200, registry.requests
            if path == "/test/fail":
                registry.failing += body
                return 200, {}
            registry.requests.append(f"{self.command} {path}")
            if registry.failing:
                return registry.failing.pop(0), {"error_code": 50001, "message": "Error in the backend"}
            if wanted is not None and self.headers.get("Authorization") != wanted:
                return 401, {"error_code": 401, "message": "Unauthorized"}
            if match := re.fullmatch(r"/schemas/ids/(\d+)", path):
                return registry.by_id(match[1])
            if match := re.fullmatch(r"/subjects/([^/]+)/versions/(\w+)", path):
                return registry.version(unquote(match[1]), match[2])
            if match := re.fullmatch(r"/subjects/([^/]+)(/versions)?", path):
                return (registry.register if match[2] else registry.lookup)(unquote(match[1]), body)
            return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

        def log_message(self, *_: Any) -> None: ...

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--user")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(Registry(), parser.parse_args().user))
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
