"""Who may pass: names of the server, pages of others, settings that would leave it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.rest.settings import RestSettings, rest_settings
from tests.rest.jobs import Jobs
from tests.rest.support import api


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8081", 200), ("127.0.0.1:9", 200), ("[::1]:8081", 200), ("evil.example", 403), ("", 403)],
)
def test_a_name_that_leads_here_is_not_enough(jobs: Jobs, host: str, status: int) -> None:
    assert jobs.client.get("/config", headers={"host": host}).status_code == status


def test_a_name_of_its_own(jobs: Jobs) -> None:
    with api(jobs.cluster, RestSettings(address="jobs.example")) as client:
        assert client.get("/config", headers={"host": "jobs.example"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),  # passes: there is no such job
        ({"origin": "http://localhost:8081"}, 404),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 404),
    ],
)
@pytest.mark.parametrize("how", ["PATCH /jobs/{}", "GET /jobs/{}/yarn-cancel"])
def test_pages_of_others_change_nothing(jobs: Jobs, how: str, headers: dict[str, str], status: int) -> None:
    method, _, path = how.format("0" * 32).partition(" ")
    assert jobs.client.request(method, path, headers=headers).status_code == status


def test_no_page_may_read_unless_it_is_named(jobs: Jobs) -> None:
    page = {"origin": "https://pages.example"}
    answer = jobs.client.get("/config", headers=page)
    assert "access-control-allow-origin" not in answer.headers
    with api(jobs.cluster, RestSettings(origins=frozenset(["https://pages.example"]))) as client:
        answer = client.get("/config", headers=page)
        assert answer.headers["access-control-allow-origin"] == "https://pages.example"
        assert (
            "access-control-allow-origin"
            not in client.get("/config", headers={"origin": "https://evil.example"}).headers
        )
        assert client.patch(f"/jobs/{'0' * 32}", headers=page).status_code == 404
        asked = {**page, "access-control-request-method": "PATCH"}
        assert client.options("/jobs", headers=asked).status_code == 200


def settings(**options: str) -> RestSettings:
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key.replace("__", "-").replace("_", "."), value)
    return rest_settings(configuration)


def test_settings_when_nothing_is_set() -> None:
    assert settings() == RestSettings()


@pytest.mark.parametrize(
    ("text", "ports"),
    [("8085", (8085,)), ("50100,50102", (50100, 50102)), ("9000-9002, 0", (9000, 9001, 9002, 0))],
)
def testports_of(text: str, ports: tuple[int, ...]) -> None:
    assert settings(rest_bind__port=text).ports == ports


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rest_bind__address": "0.0.0.0"}, "open to everybody"),
        ({"rest_bind__address": "jobs.example"}, "open to everybody"),
        ({"rest_auth": "token"}, "rest.auth.file"),
        ({"rest_auth_file": "/f"}, "nobody is asked"),
        ({"rest_auth": "magic"}, "one of none, token, basic"),
        ({"rest_bind__port": "eighty"}, "not a port"),
        ({"rest_bind__port": "9-5"}, "not a port"),
        ({"rest_port": "70000"}, "between 0 and 65535"),
        ({"web_access__control__allow__origin": "*"}, "Every web page"),
        ({"security_ssl_rest_enabled": "true"}, "PEM file"),
        ({"web_checkpoints_history": "101"}, "between 0 and 100"),
    ],
)
def test_settings_that_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        settings(**options)


def test_a_store_of_java_is_no_certificate(tmp_path: Path) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(ConfigurationError, match="openssl pkcs12"):
        settings(
            security_ssl_rest_enabled="true",
            security_ssl_rest_keystore=str(store),
            security_ssl_rest_keystore__type="JKS",
        )


def test_everybody_may_use_it_when_that_is_said() -> None:
    found = settings(rest_bind__address="0.0.0.0", rest_auth="none")
    assert (found.host, found.auth, found.is_local) == ("0.0.0.0", "none", False)


class Jobless:
    """A cluster that raises what nobody expects."""

    takes_programs = False

    def jobs(self) -> list[object]:
        raise ValueError("no view: db://ann:hunter2@host")


def test_a_mistake_is_an_answer_and_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Neither shows a secret."""
    with api(Jobless()) as client:  # type: ignore[arg-type]
        answer = client.get("/jobs")
    assert answer.status_code == 500
    assert answer.json() == {"errors": ["Internal server error.", "ValueError: no view: db://******@host"]}
    (record,) = [record for record in caplog.records if "request failed" in record.getMessage()]
    assert "test_guard.py" in caplog.text
    assert "hunter2" not in caplog.text
    assert record.getMessage() == "request failed path=/jobs"
