"""``firesteel state`` against a job that runs, and what commands say that cannot be carried out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firesteel.cli import _cluster, main
from firesteel.datastream._session_defaults import set_session_defaults
from firesteel.rest.local import LocalCluster
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from tests.jobmanager.checkpoint_support import Count
from tests.jobmanager.rescale_support import running, running_executor, wide_platform
from tests.places import free_port
from tests.runtime.support import At, LiveSource, environment, feed, punctuated
from tests.waiting import until


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, str]]:
    """The id of a job that counts, and the address of its API."""
    with wide_platform():
        cluster = LocalCluster(running_executor())
        server = RestServer(cluster, RestSettings(ports=(0,))).start()
        env = environment(2)
        words = env.from_source(LiveSource("words"), punctuated(), "live").map(lambda r: r.value)
        words.key_by(lambda v: v).process(Count()).uid("the counts")
        feed("words", (At(1, "a b"), 0), (At(2, "a+b"), 0), (At(3, "a+b"), 0), (At(4, "ü&%20"), 0))
        client = env.execute_async()
        job = running()
        until(lambda: job.view.records_read == 4)
        try:
            yield str(job.job_id), server.url.removeprefix("http://")
        finally:
            client.cancel().result()
            server.stop()
            cluster.close()


@pytest.fixture(autouse=True)
def no_settings_stay() -> Iterator[None]:
    """The command puts what it was given into this process."""
    yield
    set_session_defaults({})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.row("S-STATE-28")
@pytest.mark.parametrize(
    ("key", "count"), [("a b", "1"), ("a+b", "2"), ("ü&%20", "1"), ("none", "null"), ("7", "null")]
)
def test_keys_of_any_characters_are_found(served: tuple[str, str], key: str, count: str) -> None:
    job, address = served
    found = run("state", "get", job, "the counts", "count", key, "-m", address)
    assert (found.exit_code, found.stdout) == (0, f"{count}\n"), found.output


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("state", "get", "JOB", "counts of", "count", "a"), 1, "an operator with the uid 'counts of'"),
        (("state", "get", "JOB", "the counts", "cont", "a"), 1, "it has 'count' (value), 'seen' (list)"),
        (("state", "ls", "0" * 32), 4, f"Job {'0' * 32} not found"),
        (("state", "ls", "0abc"), 2, "0abc is neither the id of a job, 32 hexadecimal digits"),
        (("checkpoint", "JOB"), 1, "it has no checkpoints; set execution.checkpointing.interval"),
        (("savepoint", "JOB"), 1, "No directory is set for savepoints\n  hint: name one, or set"),
        (("stop", "JOB"), 1, "No directory is set for savepoints"),
        (("savepoint", "0" * 32), 1, f"Job {'0' * 32} not found"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    served: tuple[str, str], words: tuple[str, ...], code: int, says: str
) -> None:
    job, address = served
    refused = run(*(job if word == "JOB" else word for word in words), "-m", address)
    assert refused.exit_code == code, refused.output
    assert says in refused.output
    assert "Traceback" not in refused.output


def test_a_cluster_that_does_not_start_in_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cluster, "_START_S", 0.2)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    late = run("cluster", "start", "--port", str(free_port()))
    assert late.exit_code == 1
    assert "did not start within 0.2 s, and was ended. Its log says how far it came: " in late.output
