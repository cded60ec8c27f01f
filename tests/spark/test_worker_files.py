"""Archives and required packages are where functions look for them."""

from __future__ import annotations

import importlib
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.common.errors import ConfigurationError, JobExecutionError, ProgramError
from firesteel.datastream import MapFunction, RuntimeContext
from firesteel.program.distributed_cache import cached_files
from firesteel.spark import requirements
from firesteel.spark.archives import unpacked
from firesteel.spark.modules import worker_files
from firesteel.spark.user_cache import cache_directory
from tests.runtime.support import environment as in_process, local_platform
from tests.spark.conftest import MakeEnvironment


class Context:
    def __init__(self, master: str) -> None:
        self.master = master


class Session:
    def __init__(self, master: str) -> None:
        self.sparkContext = Context(master)


def make_archive(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("words/one.txt", "one")
        tool = zipfile.ZipInfo("tool.sh")
        tool.external_attr = 0o755 << 16
        archive.writestr(tool, "echo")
    return path


def make_wheel(directory: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_archives_are_unpacked_under_their_target_or_their_name(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "a.zip")
    packed = tmp_path / "b.tar.gz"
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(path, "inner/a.zip")
    directory = Path(unpacked([f"{path}#data", str(packed)]))
    assert (directory / "data" / "words" / "one.txt").read_text() == "one"
    assert os.access(directory / "data" / "tool.sh", os.X_OK)
    assert (directory / "b.tar.gz" / "inner" / "a.zip").exists()
    assert unpacked([f"{path}#data", str(packed)]) == str(directory)
    assert unpacked([f"{path}#other"]) != str(directory)


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    text = tmp_path / "notes.zip"
    text.write_text("no zip")
    with pytest.raises(ConfigurationError, match=r"notes\.zip cannot be unpacked"):
        unpacked([str(text)])
    path = make_archive(tmp_path / "a.zip")
    with pytest.raises(ConfigurationError, match="same target directory data"):
        unpacked([f"{path}#data", f"{path}#data"])


def test_requirements_are_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    downloaded = tmp_path / "downloaded"
    downloaded.mkdir()
    make_wheel(downloaded, "firesteel_sample", "1.5")
    file = tmp_path / "requirements.txt"
    file.write_text("firesteel_sample==1.5\n")
    settings = Configuration.from_dict({"python.requirements": f"{file}#{downloaded}"})
    here: Any = Session("local[2]")
    placed = worker_files(here, settings)
    (packages,) = placed.paths
    assert placed.directory is None
    assert "1.5" in (Path(packages) / "firesteel_sample.py").read_text()
    monkeypatch.setattr(requirements, "_install", None)
    assert worker_files(here, settings) == placed
    elsewhere: Any = Session("spark://somewhere:7077")
    assert worker_files(elsewhere, settings).paths == (f"requirements-{Path(packages).name}",)
    assert sorted(p.name for p in (cache_directory() / "requirements").iterdir()) == [Path(packages).name]


@pytest.mark.spark
def test_functions_find_archives_and_packages(
    environment: MakeEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    make_wheel(tmp_path, "firesteel_sample", "1.5")
    file = tmp_path / "requirements.txt"
    file.write_text("firesteel_sample\n")

    def read(value: int) -> tuple[str, str]:
        import firesteel_sample  # type: ignore[import-not-found]

        return Path("data/words/one.txt").read_text(), firesteel_sample.VERSION

    env = environment(1)
    env.add_python_archive(str(make_archive(tmp_path / "a.zip")), "data")
    env.set_python_requirements(str(file), str(tmp_path))
    assert list(env.from_collection([1]).map(read).execute_and_collect()) == [("one", "1.5")]
    here = environment(1).from_collection([1]).map(lambda _: os.getcwd())
    assert list(here.execute_and_collect()) == [os.getcwd()]


@pytest.mark.spark
def test_functions_find_modules_of_files_that_have_one_name(
    environment: MakeEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in PyFlink: of two modules that are called alike the one that was added last is found."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    env = environment(1)
    for place in "ab":
        directory = tmp_path / place / "tools"
        directory.mkdir(parents=True)
        (directory / f"tool_of_{place}.py").write_text(f"PLACE = {place!r}\n")
        (tmp_path / place / "tool_of_both.py").write_text(f"PLACE = {place!r}\n")
        with zipfile.ZipFile(tmp_path / place / "lib.zip", "w") as archive:
            archive.writestr(f"zipped_tool_of_{place}.py", f"PLACE = {place!r}\n")
        for name in ("tool_of_both.py", "tools", "lib.zip"):
            env.add_python_file(str(tmp_path / place / name))
    names = ["tool_of_both", "tool_of_a", "tool_of_b", "zipped_tool_of_a", "zipped_tool_of_b"]
    found = env.from_collection(names).map(lambda name: importlib.import_module(name).PLACE)
    assert list(found.execute_and_collect()) == ["b", "a", "b", "a", "b"]


class ReadsFile(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.path = runtime_context.get_distributed_cache().get_file("names")

    def map(self, value: int) -> tuple[str, bool]:
        return Path(self.path).read_text(), os.access(self.path, os.X_OK)


@pytest.mark.spark
@pytest.mark.row("S-API-13", "S-SLOT-25")
def test_functions_find_registered_files(environment: MakeEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("one")
    env = environment(1)
    env.register_cached_file(str(file), "names", executable=True)
    found = env.from_collection([1]).map(ReadsFile()).execute_and_collect()
    assert list(found) == [("one", True)]
    elsewhere: Any = Session("spark://elsewhere:7077")
    assert worker_files(elsewhere, env.configuration).cached == (("names", "names"),), "Spark puts it there"


def test_a_file_that_is_not_registered_is_named(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("one")
    with local_platform():
        env = in_process(1)
        env.register_cached_file(str(file), "nmaes")
        env.from_collection([1]).map(ReadsFile()).print()
        with pytest.raises(JobExecutionError, match="'names' is not available") as failed:
            env.execute()
    assert "did you mean 'nmaes'?" in str(failed.value.__cause__)
    entry = Configuration.from_dict({"pipeline.cached-files": "name:a"})
    with pytest.raises(ProgramError, match="no name or no path"):
        cached_files(entry)


def test_what_pip_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "requirements.txt"
    file.write_text("firesteel_missing==1.0\n")
    with pytest.raises(ConfigurationError, match="cannot be installed") as failed:
        requirements.installed(str(file), str(tmp_path))
    assert "firesteel_missing" in str(failed.value.detail)
    assert list((cache_directory() / "requirements").iterdir()) == []
