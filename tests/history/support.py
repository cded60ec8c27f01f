"""Archives for the tests: of jobs of ours, and of a job as a real Flink 2.3 has answered for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from firesteel.history.archives import Archives
from firesteel.history.routes import history_places
from firesteel.history.settings import HistorySettings
from firesteel.rest.app import make_app, make_context
from firesteel.rest.archives.archive import Archive
from firesteel.rest.archives.ended_jobs import EndedJobs
from firesteel.rest.credentials import Anybody
from firesteel.rest.settings import RestSettings
from tests.rest.support import BASE, Example, examples


@contextmanager
def shown(archives: Archives, settings: HistorySettings) -> Iterator[TestClient]:
    """A client of the history server, without a port."""
    context = make_context(EndedJobs(archives.views, archives.accumulators), RestSettings(submit=False))
    app = make_app(context, Anybody(), history_places(archives, settings))
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


def flink_archive(name: str) -> tuple[str, Archive]:
    """The archive that Flink would make of a recorded job, with its id: of the recorded answers for it."""
    ended = ("FINISHED", "FAILED")
    page = next(e for e in _of("GET /jobs/{jobid}", name) if e.body["state"] in ended)
    job_id = page.body["jid"]
    answers = {f"/jobs/{job_id}": page.body}
    for what in ("exceptions", "config", "checkpoints", "accumulators"):
        found = _of(f"GET /jobs/{{jobid}}/{what}", name)
        if found:
            answers[f"/jobs/{job_id}/{what}"] = found[0].body
    for example in _of("GET /jobs/{jobid}/vertices/{vertexid}", name):
        answers[f"/jobs/{job_id}/vertices/{example.body['id']}"] = example.body
    return job_id, Archive({path: json.dumps(body) for path, body in answers.items()})


def _of(endpoint: str, name: str) -> list[Example]:
    return [
        e for e in examples() if e.endpoint == endpoint and e.status == 200 and f"{{job:{name}}}" in e.request
    ]


def write(directory: Path, job_id: str, archive: Archive) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / job_id).write_bytes(archive.encode())
    return directory / job_id
