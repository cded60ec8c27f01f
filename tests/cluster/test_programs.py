"""Programs that are handed in by the REST API, as by Flink's dashboard, and bodies that are no programs."""

from __future__ import annotations

import io
import json
import socket
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.support import PREAMBLE, SessionCluster
from tests.rest.support import as_recorded
from tests.waiting import patience

COUNT = (
    PREAMBLE
    + """
env.from_collection(sys.argv[1:] or ["none"]).map(lambda word: word.upper()).name("shout").print()
env.execute("shouting")
"""
)


def upload(cluster: SessionCluster, name: str, content: bytes, **headers: str) -> tuple[int, Any]:
    """As a browser sends a form."""
    boundary = "----firesteel"
    body = (
        (
            f'--{boundary}\r\nContent-Disposition: form-data; name="jarfile"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        + content
        + f"\r\n--{boundary}--\r\n".encode()
    )
    return send(
        cluster,
        "POST",
        "/jars/upload",
        body,
        **{"content-type": f"multipart/form-data; boundary={boundary}", **headers},
    )


def send(
    cluster: SessionCluster, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, Any]:
    request = urllib.request.Request(f"{cluster.url}{path}", body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=patience(60)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.loads(refusal.read())["errors"][0]


def run(cluster: SessionCluster, program: str, how: str = "run", **body: Any) -> tuple[int, Any]:
    return send(cluster, "POST", f"/jars/{program}/{how}", json.dumps(body).encode())


@pytest.fixture(scope="module")
def program(cluster: SessionCluster) -> Iterator[str]:
    status, answer = upload(cluster, "shout.py", COUNT.encode())
    assert as_recorded("POST /jars/upload", status, answer) == []
    assert answer["status"] == "success"
    program_id = answer["filename"].rpartition("/")[2]
    yield program_id
    assert as_recorded("DELETE /jars/{jarid}", *send(cluster, "DELETE", f"/jars/{program_id}")) == []
    assert send(cluster, "DELETE", f"/jars/{program_id}")[0] == 404


def left_behind(cluster: SessionCluster) -> list[str]:
    """What uploads have left that are no programs."""
    place = cluster.directory / "cluster" / "programs"
    known = {file["id"] for file in cluster.client.get("/jars")["files"]}
    return [path.name for path in place.rglob("*") if path.is_file() and path.name not in known]


def test_a_program_is_listed_planned_and_run(cluster: SessionCluster, program: str) -> None:
    listed = cluster.client.get("/jars")
    assert as_recorded("GET /jars", 200, listed) == []
    (file,) = [file for file in listed["files"] if file["id"] == program]
    assert (file["name"], file["entry"]) == ("shout.py", [{"name": "__main__", "description": None}])
    before = {job["id"] for job in cluster.client.get("/jobs")["jobs"]}
    status, answer = send(cluster, "GET", f"/jars/{program}/plan?parallelism=2&program-args=a%20b")
    assert as_recorded("GET /jars/{jarid}/plan", status, answer) == []
    nodes = answer["plan"]["nodes"]
    assert "shout" in "".join(node["description"] for node in nodes)
    by_post = run(cluster, program, "plan", parallelism=2)
    assert as_recorded("POST /jars/{jarid}/plan", *by_post) == []
    assert {job["id"] for job in cluster.client.get("/jobs")["jobs"]} == before
    wanted = "ab" * 16
    status, answer = run(
        cluster,
        program,
        entryClass=None,
        programArgsList=["x y", "z"],
        jobId=wanted,
        flinkConfiguration={"pipeline.name": "renamed"},
    )
    assert (status, answer) == (200, {"jobid": wanted, "applicationId": wanted})
    assert as_recorded("POST /jars/{jarid}/run", status, answer) == []
    cluster.await_status(wanted, "FINISHED")
    assert cluster.log_of(wanted, "out") == "X Y\nZ\n"
    assert run(cluster, program, jobId=wanted)[0] == 400  # there is one of that id


def test_as_people_submit_programs_of_pyflink(cluster: SessionCluster, program: str) -> None:
    status, answer = run(
        cluster,
        program,
        "run-application",
        entryClass="org.apache.flink.client.python.PythonDriver",
        programArgsList=["-py", "/somewhere/shout.py", "word"],
    )
    assert as_recorded("POST /jars/{jarid}/run-application", status, answer) == []
    cluster.await_status(answer["applicationid"], "FINISHED")
    assert cluster.log_of(answer["applicationid"], "out") == "WORD\n"


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_with_modules(cluster: SessionCluster, kind: str) -> None:
    files = {
        "__main__.py": COUNT.replace("word.upper()", "words.loud(word)"),
        "words.py": "def loud(w): return w + '!'",
    }
    files["__main__.py"] = "import words\n" + files["__main__.py"]
    packed = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    status, answer = upload(cluster, f"project.{kind}", packed.getvalue())
    assert status == 200, answer
    program_id = answer["filename"].rpartition("/")[2]
    status, answer = run(cluster, program_id, programArgs="'a b' c")
    assert status == 200, answer
    cluster.await_status(answer["jobid"], "FINISHED")
    assert cluster.log_of(answer["jobid"], "out") == "a b!\nc!\n"
    status, said = run(cluster, program_id, entryClass="nothing.py")
    assert (status, "words.py" in said) == (400, True)
    send(cluster, "DELETE", f"/jars/{program_id}")


def outside() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../outside.py", "")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("job.jar", b"PK", "A jar cannot run here"),
        ("job.exe", b"MZ", "a program is one of .py"),
        ("job.py", b"def (", "is not Python"),
        ("job.zip", b"no archive", "is not an archive"),
        ("job.zip", outside(), "a file outside of it"),
        (".py", b"", "a program is one of .py"),
    ],
)
def test_what_is_no_program_is_refused(cluster: SessionCluster, name: str, content: bytes, said: str) -> None:
    status, answer = upload(cluster, name, content)
    assert (status, said in answer) == (400, True), answer
    assert left_behind(cluster) == []


def test_names_have_no_paths(cluster: SessionCluster) -> None:
    status, answer = upload(cluster, "../../../etc/evil.py", b"x = 1")
    assert status == 200
    program_id = answer["filename"].rpartition("/")[2]
    assert program_id.endswith("_evil.py")
    assert (cluster.directory / "cluster" / "programs" / program_id).is_file()
    send(cluster, "DELETE", f"/jars/{program_id}")
    for path in ("..%2F..%2Fjobs", "%2e%2e", "0" * 64 + "_x.py"):
        assert send(cluster, "DELETE", f"/jars/{path}")[0] == 404
        assert run(cluster, path)[0] == 404
        assert send(cluster, "GET", f"/jobmanager/logs/{path}")[0] == 404


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b""),
        ("multipart/form-data; boundary=x", b"no form at all"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n',
        ),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"; filename="a.py"\r\n\r\nprint(1)',
        ),
    ],
)
def test_broken_forms(cluster: SessionCluster, kind: str, body: bytes) -> None:
    status, said = send(cluster, "POST", "/jars/upload", body, **{"content-type": kind})
    assert status == 400
    assert "form" in said.lower()
    assert left_behind(cluster) == []


def test_a_program_that_fails_before_its_first_job(cluster: SessionCluster) -> None:
    before = set((cluster.directory / "cluster" / "work").iterdir())
    for text, said in (
        ("import no_such_module", "No module named 'no_such_module'"),
        ("def f():\n    raise LookupError('of main')\nf()", "in f"),
        ("print('no job'); x = 1", "no job"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("import os; os._exit(3)", "without a job"),
    ):
        _, answer = upload(cluster, "fails.py", text.encode())
        program_id = answer["filename"].rpartition("/")[2]
        status, refusal = run(cluster, program_id)
        assert (status, said in refusal) == (400, True), refusal
        send(cluster, "DELETE", f"/jars/{program_id}")
    # Those of the tests before it may go meanwhile.
    assert set((cluster.directory / "cluster" / "work").iterdir()) <= before


def test_a_java_graph_is_refused(cluster: SessionCluster) -> None:
    status, said = send(cluster, "POST", "/v1/jobs", b"\xac\xed")
    assert (status, "programs are Python" in said) == (400, True)


def test_only_so_much_from_who_may(tmp_path: Path) -> None:
    """Roles, and sizes: of a file, of a body without a length."""
    tokens = tmp_path / "tokens"
    tokens.write_text("read ann\noperate bob\nsubmit eve\n")
    tokens.chmod(0o600)
    settings = {"rest.auth": "token", "rest.auth.file": str(tokens), "web.upload.max-size": "100 kb"}
    cluster = SessionCluster(tmp_path / "guarded", **settings).start()
    try:
        small, large = b"x = 1", b"x = 1\n" * 40_000
        assert upload(cluster, "a.py", small)[0] == 401
        for token, status in (("ann", 403), ("bob", 403), ("eve", 200)):
            assert upload(cluster, "a.py", small, authorization=f"Bearer {token}")[0] == status
        assert upload(cluster, "a.py", large, authorization="Bearer eve")[0] == 413
        assert chunked(cluster, large) == 413
        assert left_behind_of(cluster) == []
        assert send(cluster, "GET", "/jobs")[0] == 401
        assert send(cluster, "GET", "/jobs", authorization="Bearer ann")[0] == 200
        cancel = f"/jobs/{'0' * 32}"
        assert send(cluster, "PATCH", cancel, authorization="Bearer ann")[0] == 403
        assert send(cluster, "PATCH", cancel, authorization="Bearer bob")[0] == 404
    finally:
        cluster.stop()


def left_behind_of(cluster: SessionCluster) -> list[str]:
    place = cluster.directory / "cluster"
    found = [
        path.name for name in ("programs", "blobs") for path in (place / name).rglob("*") if path.is_file()
    ]
    return [name for name in found if not name.endswith("_a.py")]


def chunked(cluster: SessionCluster, content: bytes) -> int:
    """The status of a file that does not say how large it is."""
    digest = "0" * 64
    head = (
        f"PUT /firesteel/v1/blobs/{digest} HTTP/1.1\r\nhost: {cluster.address}\r\n"
        "authorization: Bearer eve\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", cluster.port), timeout=patience(20)) as connection:
        connection.sendall(head.encode() + f"{len(content):x}\r\n".encode() + content)
        return int(connection.recv(100).split()[1])
