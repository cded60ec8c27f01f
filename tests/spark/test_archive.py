"""Which archive of Spark's classes belongs to which Java and jars."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from firesteel.spark import archive
from firesteel.spark.archive import archive_file, archive_options
from firesteel.spark.user_cache import UNUSED_DAYS


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    java, spark = tmp_path / "java", tmp_path / "spark"
    for file in (java / "lib" / "modules", java / "lib" / "server" / "classes.jsa", spark / "jars" / "a.jar"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(archive.VARIABLE, raising=False)
    return str(java), spark


@pytest.mark.parametrize("part", ["java/lib/modules", "java/lib/server/classes.jsa", "spark/jars/a.jar"])
def test_another_java_or_jar_has_another_archive(homes: tuple[str, Path], tmp_path: Path, part: str) -> None:
    before = archive_file(*homes)
    assert before == archive_file(*homes)
    (tmp_path / part).write_text("replaced")
    assert before != archive_file(*homes)
    (tmp_path / "spark/jars/b.jar").touch()
    assert len({before, archive_file(*homes)}) == 2


def test_it_is_used_when_it_is_there_and_wanted(
    homes: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert archive_options(*homes) == []
    file = archive_file(*homes)
    assert file is not None
    assert file.parent == tmp_path / "cache" / "firesteel"
    file.parent.mkdir(parents=True)
    file.touch()
    assert f"-XX:SharedArchiveFile={file}" in archive_options(*homes)
    monkeypatch.setenv(archive.VARIABLE, "off")
    assert archive_options(*homes) == []
    monkeypatch.setenv(archive.VARIABLE, str(file))
    assert f"-XX:SharedArchiveFile={file}" in archive_options(*homes)


def test_archives_that_no_program_uses_any_more_are_removed(
    homes: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is 160 MB, and belongs to one version, Java and set of jars."""
    java, spark = homes
    file = archive_file(*homes)
    assert file is not None
    file.parent.mkdir(parents=True)
    old = file.with_name("spark-of-an-older-version.jsa")
    long_ago = time.time() - (UNUSED_DAYS + 1) * 86_400
    for path in (file, old, old.with_suffix(".lock")):
        path.touch()
        os.utime(path, (long_ago, long_ago))
    assert archive_options(*homes)  # a JVM is started with it
    monkeypatch.setattr(archive, "find_java", lambda: java)
    archive.make_later(spark)
    assert list(file.parent.iterdir()) == [file]


def test_none_is_made_where_pyspark_is_in_an_archive(
    homes: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for programs of spark-submit, whose JVM is not ours."""
    monkeypatch.setattr(archive.subprocess, "Popen", None)
    archive.make_later(tmp_path / "pyspark.zip" / "pyspark")
