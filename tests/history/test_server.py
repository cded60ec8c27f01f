"""The history server as a process, and programs that archive their jobs."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.datastream._session_defaults import set_session_defaults
from firesteel.history.settings import history_settings, web_settings
from firesteel.testing import MiniCluster
from tests.cluster.support import SessionCluster, environment, until
from tests.rest.jobs import word_count
from tests.spark.support import firesteel
from tests.waiting import patience


@pytest.mark.row("S-LIFE-11")
def test_a_program_archives_its_job_and_the_history_server_shows_it(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    with archiving(f"file://{archive}") as mini:
        first = word_count(mini, "word count")
        server = subprocess.Popen(
            firesteel(
                "history-server",
                f"file://{archive}",
                "--port=0",
                *("-D", "historyserver.archive.fs.refresh-interval=100 ms"),
                *("-D", f"historyserver.web.tmpdir={tmp_path}"),
            ),
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        try:
            said = next(line for line in server.stderr if "history server is at" in line)
            url = said.split()[-1]
            jobs = _get(f"{url}/jobs/overview")["jobs"]
            assert [(job["jid"], job["state"]) for job in jobs] == [(first, "FINISHED")]
            second = word_count(mini, "word count, again")
            until(lambda: len(_get(f"{url}/jobs/overview")["jobs"]) == 2)
            assert _get(f"{url}/v1/jobs/{second}/accumulators")["user-task-accumulators"][0]["value"] == "60"
            with urllib.request.urlopen(f"{url}/") as page:
                assert b"Firesteel" in page.read()
        finally:
            server.send_signal(signal.SIGTERM)
            server.stderr.read()
            assert server.wait(patience(30)) == 0
            server.stderr.close()
    assert not list(tmp_path.glob("firesteel-history-*"))


@contextmanager
def archiving(directory: str) -> Iterator[MiniCluster]:
    """What ``firesteel run -D jobmanager.archive.fs.dir=...`` does."""
    set_session_defaults({"jobmanager.archive.fs.dir": directory})
    try:
        with MiniCluster.in_process() as mini:
            yield mini
    finally:
        set_session_defaults({})


def _get(url: str) -> dict[str, list[dict[str, object]]]:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


def test_a_session_cluster_archives_its_jobs_also_after_it_died_before_it_could(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    cluster = SessionCluster(tmp_path / "session", **{"jobmanager.archive.fs.dir": str(archive)})
    cluster.start()
    try:
        (job_id,) = cluster.submit("env.from_collection([1, 2]).print()\nenv.execute('two')")
        until(lambda: (archive / job_id).exists(), 60)
        cluster.kill()
        (archive / job_id).unlink()
        cluster.start()
        until(lambda: (archive / job_id).exists(), 60)
    finally:
        cluster.stop()


def test_settings_that_make_no_sense_are_refused() -> None:
    named = {"historyserver.archive.fs.dir": "/a, /b"}
    assert history_settings(Configuration.from_dict(named)).directories == ("/a", "/b")
    for more, what in (
        ({"historyserver.archive.retained-jobs": "0"}, "at least 1"),
        ({"historyserver.log.jobmanager.url-pattern": "ftp://x"}, "http"),
        ({"historyserver.archive.fs.dir": ""}, "where the archives"),
    ):
        with pytest.raises(ConfigurationError, match=what):
            history_settings(Configuration.from_dict({**named, **more}))


def test_the_web_settings_are_those_of_the_history_server() -> None:
    found = web_settings(
        Configuration.from_dict(
            {
                "rest.port": "9000",
                "rest.bind-port": "9001",
                "historyserver.web.port": "9002",
                "historyserver.web.refresh-interval": "4 s",
            }
        )
    )
    assert (found.host, found.ports, found.refresh_ms) == ("127.0.0.1", (9002,), 4000)
    with pytest.raises(ConfigurationError, match="open to everybody"):
        web_settings(Configuration.from_dict({"historyserver.web.address": "0.0.0.0"}))
    with pytest.raises(ConfigurationError, match="certificate"):
        web_settings(Configuration.from_dict({"historyserver.web.ssl.enabled": "true"}))


def test_an_archive_that_cannot_be_written_ends_no_job(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level("ERROR", "firesteel"), archiving(f"{tmp_path}/file/archive") as mini:
        word_count(mini, "word count")
    assert "job is not archived" in caplog.text
