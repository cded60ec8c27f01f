"""Answers with files: the dashboard at ``/``, or Flink's there and ours at ``/firesteel/dashboard/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from firesteel.rest.dashboard.files import WebFile, flink_files, own_files
from firesteel.rest.settings import RestSettings

#: Where the dashboard is in any case. Without a slash a browser would look for its files elsewhere.
OWN_PLACE: Final = "firesteel/dashboard/"
#: Paths below which only the API answers.
_API: Final = ("v1/", "firesteel/v1/")
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # A browser asks each time whether it has changed; who upgrades the server sees the new pages at once.
    "cache-control": "no-cache",
    "vary": "accept-encoding",
}


class Pages:
    """:param root: the files at ``/``; ``own``: ours, which are at their own place too."""

    def __init__(self, settings: RestSettings) -> None:
        self._own = own_files()
        self._root = self._own if settings.flink_ui is None else flink_files(settings.flink_ui)
        self._logs_in = settings.auth != "none"

    def answer(self, request: Request, *, known: bool) -> Response | None:
        """The file at a path; None: there is none.

        :param known: whether the request comes with credentials.
        """
        path = request.url.path.removeprefix("/")
        if path.startswith(_API):
            return None
        if f"{path}/" == OWN_PLACE:
            return RedirectResponse(f"/{OWN_PLACE}", 308)
        files = self._root
        if path.startswith(OWN_PLACE):
            files, path = self._own, path.removeprefix(OWN_PLACE)
        elif files is not self._own and self._logs_in and not known and path in ("", "index.html"):
            # Flink's pages cannot ask for credentials. Ours can, and lead back.
            return RedirectResponse(f"/{OWN_PLACE}#/login", 302)
        found = files.find(path)
        return None if found is None else _response(found, files.policy, request.headers)


def _response(file: WebFile, policy: str, asked: Mapping[str, str]) -> Response:
    headers = {**_HEADERS, "content-security-policy": policy, "etag": file.etag}
    seen = asked.get("if-none-match", "")
    if file.etag in (tag.strip().removeprefix("W/") for tag in seen.split(",")):
        return Response(None, 304, headers)
    headers["content-type"] = file.kind
    body = file.body
    if file.packed is not None and "gzip" in asked.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        body = file.packed
    return Response(body, 200, headers)
