"""Archives of jobs: what is in them, which are shown, and which are removed."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from firesteel.common.errors import StateCorruptionError
from firesteel.history.archives import Archives
from firesteel.history.settings import HistorySettings
from firesteel.rest.archives.archive import Archive
from firesteel.rest.archives.archivist import Archivist
from tests.history.support import flink_archive, shown, write
from tests.rest.jobs import Jobs

SETTINGS = (("parallelism.default", "2"),)
#: Answers that tell the present time, or rates of the last seconds.
LIVE = ("/firesteel/", "/backpressure")


def archived(jobs: Jobs, job: str, directory: Path) -> str:
    """The id of a job that is in an archive now."""
    job_id = jobs.ids[job]
    view = jobs.cluster.job(job_id)
    assert view is not None
    values = asyncio.run(jobs.cluster.accumulators(job_id))
    Archivist(str(directory), SETTINGS).archive(view, values, asyncio.run(jobs.cluster.machines()))
    return job_id


def shown_of(directory: Path, place: Path, **more: object) -> tuple[Archives, HistorySettings]:
    place.mkdir(exist_ok=True)
    settings = HistorySettings((str(directory),), **more)  # type: ignore[arg-type]
    return Archives(settings, place), settings


@pytest.mark.parametrize("job", ["failing", "word count", "to cancel"])
@pytest.mark.row("S-LIFE-11")
def test_every_answer_about_an_ended_job_is_as_its_cluster_gave_it(
    jobs: Jobs, job: str, tmp_path: Path
) -> None:
    job_id = archived(jobs, job, tmp_path / "archive")
    paths = Archive.decode((tmp_path / "archive" / job_id).read_bytes()).answers
    archives, settings = shown_of(tmp_path / "archive", tmp_path / "copies")
    archives.refresh(0)
    compared = 0
    with shown(archives, settings) as client:
        for path in paths:
            if path.endswith(("/overview", "archived-job", "charts")):
                continue
            then, now = jobs.client.get(path), client.get(path)
            assert now.status_code == then.status_code == 200, (path, now.text)
            ours, theirs = now.json(), then.json()
            if isinstance(ours, dict):
                ours.pop("now", None)
                theirs.pop("now", None)
            if any(part in path for part in LIVE):
                assert isinstance(ours, list) or ours.keys() == theirs.keys(), path
            else:
                assert ours == theirs, path
            compared += 1
        assert client.get("/jobs/overview").json()["jobs"][0]["jid"] == job_id
        summary = client.get("/firesteel/v1/jobs").json()["jobs"][0]
        assert (summary["jid"], summary["state"]) == (job_id, jobs.get("/jobs/{jobid}", job)["state"])
    assert compared > 20


def test_what_the_archive_does_not_say_the_view_says(jobs: Jobs, tmp_path: Path) -> None:
    job_id = archived(jobs, "failing", tmp_path / "archive")
    archives, settings = shown_of(tmp_path / "archive", tmp_path / "copies")
    archives.refresh(0)
    with shown(archives, settings) as client:
        many = client.get(f"/jobs/{job_id}/exceptions").json()["exceptionHistory"]["entries"]
        one = client.get(f"/jobs/{job_id}/exceptions?maxExceptions=1").json()["exceptionHistory"]["entries"]
        assert (len(many), len(one)) == (2, 1)
        assert client.get(f"/v1/jobs/{job_id}/metrics?get=numRestarts").json()[0]["id"] == "numRestarts"


def test_nothing_can_be_ordered_of_a_history_server(jobs: Jobs, tmp_path: Path) -> None:
    job_id = archived(jobs, "to cancel", tmp_path / "archive")
    archives, settings = shown_of(tmp_path / "archive", tmp_path / "copies")
    archives.refresh(0)
    with shown(archives, settings) as client:
        for method, path in (
            ("PATCH", f"/jobs/{job_id}"),
            ("POST", f"/jobs/{job_id}/savepoints"),
            ("POST", "/jars/upload"),
            ("DELETE", "/cluster"),
        ):
            assert client.request(method, path).status_code == 404
        features = client.get("/config").json()["features"]
        assert features["web-history"] is True
        assert (features["web-submit"], features["web-cancel"]) == (False, True)


def test_archives_of_flink_are_shown(tmp_path: Path) -> None:
    job_id, archive = flink_archive("failing")
    nested = tmp_path / "archive" / ("c" * 32) / "applications" / ("a" * 32) / "jobs"
    write(nested, job_id, archive)  # as Flink 2.3 writes them
    archives, settings = shown_of(tmp_path / "archive", tmp_path / "copies")
    archives.refresh(0)
    with shown(archives, settings) as client:
        for path, text in archive.answers.items():
            assert client.get(path).json() == json.loads(text)
        page = json.loads(archive.answers[f"/jobs/{job_id}"])
        (job,) = client.get("/jobs/overview").json()["jobs"]
        same = ("jid", "name", "state", "start-time", "end-time")
        assert [job[name] for name in same] == [page[name] for name in same]
        live = client.get(f"/firesteel/v1/jobs/{job_id}").json()
        assert {v["id"] for v in live["vertices"]} == {v["id"] for v in page["vertices"]}
        failures = client.get(f"/firesteel/v1/jobs/{job_id}/failures").json()["failures"]
        assert failures
        assert failures[0]["traceback"]


def test_new_archives_are_found_and_damaged_ones_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "archive"
    archives, _ = shown_of(directory, tmp_path / "copies")
    archives.refresh(0)  # there is no directory yet
    assert not archives.views
    job_id, archive = flink_archive("failing")
    write(directory, job_id, archive)
    (directory / ("d" * 32)).write_text('{"archive": [')
    (directory / "notes.txt").write_text("no archive")
    with caplog.at_level("WARNING", "firesteel"):
        archives.refresh(0)
        archives.refresh(0)
    assert list(archives.views) == [job_id]
    assert len([r for r in caplog.records if "cannot be read" in r.getMessage()]) == 1


@pytest.mark.parametrize(("forgets", "left"), [(False, 1), (True, 0)])
def test_a_job_whose_archive_is_gone(forgets: bool, left: int, tmp_path: Path) -> None:
    job_id, archive = flink_archive("failing")
    file = write(tmp_path / "archive", job_id, archive)
    archives, settings = shown_of(tmp_path / "archive", tmp_path / "copies", forgets=forgets)
    archives.refresh(0)
    file.unlink()
    archives.refresh(0)
    with shown(archives, settings) as client:
        assert len(client.get("/jobs/overview").json()["jobs"]) == left
        assert client.get(f"/jobs/{job_id}/exceptions").status_code == (200 if left else 404)


def test_archives_that_are_too_many_or_too_old_are_deleted(tmp_path: Path) -> None:
    directory = tmp_path / "archive"
    job_id, archive = flink_archive("failing")
    for number in range(4):
        name = f"{number}" * 32
        answers = {
            path.replace(job_id, name): text.replace(job_id, name) for path, text in archive.answers.items()
        }
        file = write(directory, name, Archive(answers))
        os.utime(file, (1_000 + number, 1_000 + number))
    archives, _ = shown_of(directory, tmp_path / "copies", retained=3)
    archives.refresh(0)
    assert sorted(p.name[0] for p in directory.iterdir()) == ["1", "2", "3"]
    older, _ = shown_of(directory, tmp_path / "others", retained_ms=500)
    older.refresh(1_002_500)
    assert sorted(p.name[0] for p in directory.iterdir()) == ["2", "3"]
    assert sorted(name[0] for name in older.views) == ["2", "3"]


def test_a_file_that_is_no_archive_is_refused() -> None:
    for data in (b"", b"[]", b'{"archive": [{"path": 1}]}', b"\xff"):
        with pytest.raises(StateCorruptionError, match="archive of a job"):
            Archive.decode(data)
