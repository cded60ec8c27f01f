"""Requests to an application without a port."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

__all__ = ["ask"]


async def ask(app: Any, method: str, target: str, content: bytes, kind: str) -> tuple[int, bytes]:
    """Status and body of the answer to a request.

    :param target: path and query. :param kind: the type of the content.
    """
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", kind.encode()),
            (b"content-length", str(len(content)).encode()),
        ],
        "client": None,
        "server": ("localhost", 0),
    }
    sent = False
    status, parts = 500, []

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)
