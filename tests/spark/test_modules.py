"""What a program names travels to the workers, for each of its jobs (no Spark is started)."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.spark.modules import distribute_files, distribute_modules


class Context:
    """Of a cluster; refuses what Spark refuses: one name from two paths."""

    master = "spark://somewhere:7077"

    def __init__(self) -> None:
        self.paths: dict[str, str] = {}

    def addFile(self, path: str) -> None:
        assert self.paths.setdefault(Path(path).name, path) == path, (
            "already registered with a different path"
        )

    addPyFile = addArchive = addFile


class Session:
    def __init__(self) -> None:
        self.sparkContext = Context()


def test_two_jobs_of_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside_the_script.py").write_text("VALUE = 7\n")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "tool.sh").write_text("echo\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import beside_the_script  # type: ignore[import-not-found]

    session: Any = Session()
    cached = f"name:tool,path:{tmp_path / 'tool.sh'},executable:true"
    settings = {"python.files": str(package), "pipeline.cached-files": cached}
    try:
        for _ in range(2):
            distribute_modules(session, str(tmp_path))
            distribute_files(session, Configuration.from_dict(settings))
    finally:
        del sys.modules[beside_the_script.__name__]
    paths = session.sparkContext.paths
    assert sorted(name.partition("-")[0] for name in paths) == ["modules", "package.zip", "tool"]
    assert Path(paths["tool"]).stat().st_mode & 0o100


def test_archives_beside_the_script_are_not_taken_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark puts its own there in a container of YARN."""
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("in_an_archive.py", "VALUE = 7\n")
    (tmp_path / "beside_it.py").write_text("VALUE = 8\n")
    for place in (tmp_path, tmp_path / "archive.zip"):
        monkeypatch.syspath_prepend(str(place))
    import beside_it  # type: ignore[import-not-found]
    import in_an_archive  # type: ignore[import-not-found]

    session: Any = Session()
    try:
        distribute_modules(session, str(tmp_path))
    finally:
        for module in (beside_it, in_an_archive):
            del sys.modules[module.__name__]
    (path,) = session.sparkContext.paths.values()
    with zipfile.ZipFile(path) as packed:
        assert packed.namelist() == ["beside_it.py"]
