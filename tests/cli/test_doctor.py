"""``firesteel doctor`` finds what is missing, and says what mends it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from firesteel.cli import _doctor, main
from firesteel.cli._endpoints import check_endpoint
from firesteel.cli._findings import Finding, Level
from firesteel.cli._packages import check_packages
from firesteel.common._requirements import parse, satisfies
from firesteel.spark.java import find_java
from tests.waiting import patience

REQUIREMENTS = [
    "click>=8.1",
    "cloudpickle>=3.1",
    'confluent-kafka>=2.11; extra == "kafka"',
    'no-such-package; extra == "queues"',
    'no-such-package; extra == "dev"',
]


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A shell without settings of Spark."""
    for name in ("PYSPARK_PYTHON", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "SPARK_LOCAL_DIRS"):
        monkeypatch.delenv(name, raising=False)
    find_java.cache_clear()
    yield
    find_java.cache_clear()


def faults(findings: Iterator[Finding]) -> dict[str, str | None]:
    return {found.what: found.mend for found in findings if found.level is Level.FAIL}


def only_fault() -> tuple[str, str]:
    ((what, mend),) = faults(_doctor.examine()).items()
    assert mend is not None
    return what, mend


def test_a_machine_that_is_well() -> None:
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 0, done.output
    assert "FAIL" not in done.output
    for said in ("Python 3.", "Java ", "packages that Firesteel needs", "workers run the Python"):
        assert any(line.startswith("ok ") and said in line for line in done.output.splitlines())


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("firesteel.spark.java._USUAL", ())
    what, mend = only_fault()
    assert "No Java runtime" in what
    assert "apt-get install openjdk-17" in mend
    assert CliRunner().invoke(main, ["doctor"]).exit_code == 1


def test_a_java_home_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    notes = {f.what: f.mend for f in _doctor.examine() if f.level is Level.NOTE and "JAVA_HOME" in f.what}
    ((what, mend),) = notes.items()
    assert str(tmp_path) in what
    assert (mend or "").startswith("export JAVA_HOME=/")


def test_packages_and_extras() -> None:
    assert faults(check_packages((), REQUIREMENTS)) == {}
    assert [f.what for f in check_packages((), REQUIREMENTS) if f.level is Level.NOTE] == [
        "extra queues: no-such-package is not installed"
    ]
    wanted = faults(check_packages(["queues", "mqtt"], REQUIREMENTS))
    assert wanted == {
        "extra queues: no-such-package is not installed": (
            "pip install 'no-such-package', here and where the workers run"
        ),
        "Firesteel has no extra 'mqtt'": "one of: kafka, queues",
    }
    old = faults(check_packages((), ["click>=8.1,<8.2.0.1,!=8.1.5", "cloudpickle>=99", "no-such-package"]))
    assert any("99 is needed" in what for what in old)
    assert "no-such-package is not installed" in old
    assert set(old.values()) == {
        "pip install 'click>=8.1,<8.2.0.1,!=8.1.5'",
        "pip install 'cloudpickle>=99'",
        "pip install 'no-such-package'",
    }


@pytest.mark.parametrize(
    ("there", "bounds", "fits"),
    [
        ("4.3.0", ">=4.3,<4.4", True),
        ("4.4.0", "<4.4,>=4.3", False),
        ("4.10", ">=4.9", True),
        ("3.2.0rc1", ">=3.2", True),
        ("2.0", "==2", True),
        ("2.1.3", "~=2.1.1", True),
        ("2.2.0", "~=2.1.1", False),
        ("1.0", "", True),
    ],
)
def test_versions(there: str, bounds: str, fits: bool) -> None:
    assert satisfies(there, bounds) is fits


def test_lines_of_metadata() -> None:
    found = parse("psycopg[binary] (>=3.2) ; python_version > '3' and extra == \"jdbc\"")
    assert found is not None
    assert (found.package, found.extra) == ("psycopg", "jdbc")
    assert satisfies("3.1", found.bounds) is False


def test_another_python_in_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(name: str, script: str) -> tuple[str, str]:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PYSPARK_PYTHON", str(path))
        return only_fault()

    here = "{}.{}".format(*sys.version_info[:2])
    what, mend = chosen("old", "echo 3.8")
    assert "is Python 3.8, the program runs" in what
    assert mend == f"export PYSPARK_PYTHON={sys.executable}"
    what, mend = chosen("bare", f"echo {here}; echo \"No module named 'lmdb'\" >&2; exit 1")
    assert "lacks a package: No module named 'lmdb'" in what
    assert mend.endswith("bare -m pip install firesteel")
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/python")
    assert "is not there" in only_fault()[0]
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert faults(_doctor.examine()) == {}


def test_settings_of_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/spark-defaults.conf").write_text("# x\nspark.task.maxFailures=1\nspark.master  yarn\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    found = faults(_doctor.examine())
    settings = [mend for what, mend in found.items() if what.startswith("SPARK_")]
    assert settings == ["unset SPARK_HOME", "unset SPARK_REMOTE"]
    assert "set spark.task.maxFailures to 4 there" in found.values()
    import pyspark

    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    monkeypatch.delenv("SPARK_REMOTE")
    assert faults(_doctor.examine()) == {}


def test_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless(name: str) -> str:
        raise OSError("unknown")

    monkeypatch.setattr(socket, "gethostbyname", nameless)
    assert only_fault()[1] == "export SPARK_LOCAL_IP=127.0.0.1"
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/no/such/place")
    assert "cannot be written" in only_fault()[0]


def test_endpoints(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for endpoint in (f"127.0.0.1:{port}", f"redis://:secret@127.0.0.1:{port}/0", f"localhost:{port}"):
            assert check_endpoint(endpoint).level is Level.OK
    for endpoint in (f"127.0.0.1:{port}", f"amqp://127.0.0.1:{port}", "jdbc:sqlite:/no/such", "no endpoint"):
        found = check_endpoint(endpoint)
        assert found.level is Level.FAIL
        assert found.mend
    assert "secret" not in str(check_endpoint(f"redis://:secret@127.0.0.1:{port}"))
    (tmp_path / "x.db").touch()
    assert check_endpoint(f"jdbc:sqlite:{tmp_path}/x.db").level is Level.OK


def test_a_broker_that_does_not_answer_is_one_line() -> None:
    code = "from firesteel.cli import main; main(['doctor', 'kafka://127.0.0.1:1'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=patience(60))
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.count("127.0.0.1:1 does not answer") == 1
