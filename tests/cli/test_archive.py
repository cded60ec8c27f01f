"""The archive of Spark's classes as it is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firesteel.cli import archive
from firesteel.spark.archive import VARIABLE


def test_it_appears_when_it_is_complete_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cache" / "new.jsa"
    monkeypatch.setenv(VARIABLE, "off")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "")

    def run_a_job() -> None:
        (option,) = (o for o in _options() if o.startswith("-XX:ArchiveClassesAtExit="))
        Path(option.partition("=")[2]).write_text("classes")
        assert not file.exists()
        assert not archive.make_archive(file), "another one makes it"

    monkeypatch.setattr(archive, "_run_a_job", run_a_job)
    assert archive.make_archive(file)
    assert file.read_text() == "classes"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in file.parent.iterdir()) == ["new.jsa", "new.lock"]


def _options() -> list[str]:
    return os.environ["SPARK_SUBMIT_OPTS"].split()
