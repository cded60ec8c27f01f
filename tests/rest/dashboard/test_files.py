"""The files of the dashboard: types, caching, and what no path leads to; sessions; what was vendored."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from firesteel.rest.credentials import Role
from firesteel.rest.dashboard.files import OWN, TYPES
from firesteel.rest.dashboard.sessions import COOKIE, Sessions
from firesteel.rest.errors import RestError
from firesteel.rest.settings import RestSettings
from tests.rest.dashboard.flink_jar import flink_dist
from tests.rest.support import api
from tests.rest.test_size import Views, view

POLICY = "content-security-policy"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with api(Views([view(1, 4)])) as found:  # type: ignore[arg-type]
        yield found


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/index.html", "text/html"),
        ("/app/main.js", "text/javascript"),
        ("/css/base.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/vendor/preact.LICENSE", "text/plain"),
        ("/firesteel/dashboard/", "text/html"),
        ("/firesteel/dashboard/app/main.js", "text/javascript"),
    ],
)
def test_files(client: TestClient, path: str, kind: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers[POLICY]
    assert "unsafe" not in answer.headers[POLICY]
    # What has not changed is not sent again.
    again = client.get(path, headers={"if-none-match": f'"other", {answer.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200
    assert client.head(path).headers["etag"] == answer.headers["etag"]


def test_files_are_packed_for_those_who_can_read_it(client: TestClient) -> None:
    packed = client.get("/vendor/dagre.js", headers={"accept-encoding": "gzip"})
    plain = client.get("/vendor/dagre.js", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 2


@pytest.mark.parametrize(
    "path",
    [
        "/../files.py",
        "/..%2ffiles.py",
        "/%2e%2e/%2e%2e/settings.py",
        "/app/..%5c..%5cfiles.py",
        "/app/../../files.py",
        "//etc/passwd",
        "/vendor",
        "/vendor/",
        "/nothing.js",
        "/v1/",
        "/v1/index.html",
        "/firesteel/v1/index.html",
        "/firesteel/v1/",
        "/firesteel/dashboard/..%2f..%2ffiles.py",
        "/index.html%00.js",
    ],
)
def test_no_path_leads_elsewhere(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json().keys() == {"errors"}


def test_files_cannot_be_changed(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/index.html").status_code == 404


def test_our_place_without_its_slash(client: TestClient) -> None:
    answer = client.get("/firesteel/dashboard", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, "/firesteel/dashboard/")


@pytest.mark.row("S-REST-08")
def test_pages_have_no_script_or_style_in_their_markup_and_ask_this_server_alone() -> None:
    page = (OWN / "index.html").read_text()
    assert re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|https?://", page) is None
    for file in OWN.rglob("*"):
        if file.is_file():
            assert file.suffix.lower() in TYPES, file
        if file.suffix == ".js" and "vendor" not in file.parts:
            text = file.read_text()
            for wrong in (
                r"innerHTML|dangerouslySet|document\.write|\beval\(|new Function",
                r"""["'`](https?:)?//|["'`]/(jobs|v1|firesteel)""",
            ):
                assert re.search(wrong, text) is None, (file, wrong)


def test_what_was_vendored_is_what_is_pinned() -> None:
    """Under 300 kB, each with its licence, unchanged since it was fetched."""
    vendor = OWN / "vendor"
    pinned = json.loads((vendor / "libraries.json").read_text())["libraries"]
    named = {target for library in pinned for target in library["files"].values()}
    assert named | {"libraries.json"} == {file.name for file in vendor.iterdir()}
    for library in pinned:
        assert base64.b64decode(library["integrity"].removeprefix("sha512-"))
        assert any(target.endswith(".LICENSE") for target in library["files"].values()), library["name"]
        for target, digest in library["sha256"].items():
            assert hashlib.sha256((vendor / target).read_bytes()).hexdigest() == digest, target
        assert library["sha256"].keys() == set(library["files"].values())
    assert sum(file.stat().st_size for file in vendor.iterdir()) < 300_000


def test_flinks_pages_are_unchanged_and_ours_are_beside_them() -> None:
    with api(Views([view(1, 4)]), RestSettings(flink_ui=flink_dist())) as client:  # type: ignore[arg-type]
        assert "flink-root" in client.get("/").text
        assert "Firesteel" in client.get("/firesteel/dashboard/").text
        assert client.get("/firesteel/v1/session").json()["flink_ui"] is True
        assert client.get("/..%2fMETA-INF/MANIFEST.MF").status_code == 404


# ---- sessions


def test_sessions_end() -> None:
    now_s = 0.0
    sessions = Sessions(lambda: now_s)
    cookie = f"other=1; {COOKIE}={sessions.begin(Role.READ, 'ann')}"
    found = sessions.of(cookie)
    assert found is not None
    assert (found.role, found.name) == (Role.READ, "ann")
    assert sessions.of(f"{COOKIE}=guessed") is None
    assert sessions.of("") is None
    now_s = 11 * 3600.0
    assert sessions.of(cookie) is not None
    now_s += 13 * 3600.0
    assert sessions.of(cookie) is None, "nobody was there for half a day"
    other = f"{COOKIE}={sessions.begin(Role.OPERATE, '')}"
    for _ in range(8 * 24):
        now_s += 3600.0
        sessions.of(other)
    assert sessions.of(other) is None, "a week is the longest"


def test_sessions_are_bounded_and_can_be_ended() -> None:
    sessions = Sessions()
    first = f"{COOKIE}={sessions.begin(Role.READ, '')}"
    last = f"{COOKIE}={[sessions.begin(Role.READ, '') for _ in range(1_000)][-1]}"
    assert sessions.of(first) is None, "the one seen longest ago goes"
    assert sessions.of(last) is not None
    sessions.end(last)
    assert sessions.of(last) is None


def test_passwords_are_not_to_be_guessed() -> None:
    now_s = 0.0
    sessions = Sessions(lambda: now_s)
    for _ in range(10):
        sessions.check_guesses()
        sessions.failed()
    with pytest.raises(RestError, match="Wait a minute") as raised:
        sessions.check_guesses()
    assert raised.value.status == 429
    now_s = 61.0
    sessions.check_guesses()


class OneToken:
    challenge = 'Basic realm="firesteel"'

    def role(self, authorization: str) -> Role | None:
        return Role.OPERATE if authorization == "Bearer right" else None


def test_a_session_serves_as_credentials() -> None:
    settings = RestSettings(auth="token")
    with api(Views([view(1, 4)]), settings, OneToken()) as client:  # type: ignore[arg-type]
        assert client.get("/").status_code == 200, "pages have no secrets"
        asked = client.get("/jobs", headers={"sec-fetch-dest": "empty"})
        assert asked.status_code == 401
        assert asked.headers["www-authenticate"].startswith("Session"), "no window of the browser's"
        assert client.get("/jobs").headers["www-authenticate"].startswith("Basic")
        assert client.get("/firesteel/v1/session").json()["role"] is None
        wrong = client.post("/firesteel/v1/session", json={"token": "wrong"})
        assert wrong.status_code == 403
        assert "set-cookie" not in wrong.headers
        elsewhere = {"origin": "https://evil.example"}
        assert (
            client.post("/firesteel/v1/session", json={"token": "right"}, headers=elsewhere).status_code
            == 403
        )
        found = client.post("/firesteel/v1/session", json={"token": "right"})
        assert found.json()["role"] == "operate"
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(found.headers["set-cookie"].split("; "))
        assert client.get("/jobs").status_code == 200
        changed = client.patch(f"/jobs/{'0' * 32}", headers=elsewhere)
        assert changed.status_code == 403, "a session is no leave for pages of others"
        client.delete("/firesteel/v1/session")
        assert client.get("/jobs").status_code == 401


def test_nobody_logs_in_where_nobody_is_asked(client: TestClient) -> None:
    assert client.post("/firesteel/v1/session", json={"token": "x"}).status_code == 400
    assert client.get("/firesteel/v1/session").json()["role"] is not None
