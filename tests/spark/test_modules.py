"""What a program names travels to the workers, for each of its jobs (no Spark is started)."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.spark.modules import distribute_files, distribute_modules


class Context:
    """Of a cluster; refuses what Spark refuses: one name from two paths. ``paths`` are in the order in which
    they came."""

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


def test_files_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of modules that are called alike the one that is named first is found, as in PyFlink."""
    for place in "ab":
        directory = tmp_path / place / "package"
        directory.mkdir(parents=True)
        (directory / "__init__.py").write_text("")
        (directory / f"inside_{place}.py").write_text(f"PLACE = {place!r}\n")
        (tmp_path / place / "module_of_two.py").write_text(f"PLACE = {place!r}\n")
        with zipfile.ZipFile(tmp_path / place / "lib.zip", "w") as archive:
            archive.writestr(f"zipped_{place}.py", f"PLACE = {place!r}\n")
    names = [
        f"{tmp_path}/{place}/{name}" for place in "ba" for name in ("module_of_two.py", "package", "lib.zip")
    ]
    settings = {
        "python.files": ",".join(names),
        "python.archives": f"{tmp_path}/a/lib.zip,{tmp_path}/b/lib.zip#other",
    }
    session: Any = Session()
    for _ in range(2):
        distribute_files(session, Configuration.from_dict(settings))
    added = session.sparkContext.paths
    targets = [name.partition("#")[2] for name in added if "#" in name]
    assert targets == ["lib.zip", "other"]
    code = [path for path in added.values() if "#" not in path]
    assert len({Path(path).name for path in code}) == 5
    path = [str(Path(path).parent) if path.endswith(".py") else path for path in code]
    monkeypatch.setattr(sys, "path", [*path, *sys.path])
    found = {}
    for name in ("module_of_two", "inside_a", "inside_b", "package.inside_b", "zipped_a", "zipped_b"):
        found[name] = importlib.import_module(name).PLACE
        for module in (name, name.partition(".")[0]):
            sys.modules.pop(module, None)
    assert list(found.values()) == ["b", "a", "b", "b", "a", "b"]
    with pytest.raises(ConfigurationError, match=r"another module module_of_two\.py already") as error:
        distribute_files(session, Configuration.from_dict({"python.files": names[3]}))
    assert names[0] in str(error.value)
