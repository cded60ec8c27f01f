"""Files that workers need: modules beside the user's script, and what the program names itself."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import pipeline, python
from firesteel.program.distributed_cache import CachedFile, cached_files
from firesteel.program.module_archives import module_archive
from firesteel.runtime.program import WorkerFiles
from firesteel.spark.archives import unpacked
from firesteel.spark.requirements import installed
from firesteel.storage.process_directory import process_directory

# what a program names its files with
KEYS_OF_FILES: Final = (python.FILES, python.ARCHIVES, python.REQUIREMENTS, pipeline.CACHED_FILES)


def shares_files(session: SparkSession) -> bool:
    """Whether the workers see the files of this machine: local and local-cluster run on it."""
    return (session.sparkContext.master or "").startswith("local")


def distribute_modules(session: SparkSession, script_dir: str) -> None:
    """Give the modules beside the script to workers on other machines."""
    if shares_files(session):
        return
    root = script_dir
    # Modules of archives are not files: in a container of YARN those of Spark lie beside the script.
    beside = {
        path
        for module in list(sys.modules.values())
        if (path := _source_file(module)) is not None and path.is_relative_to(root) and path.is_file()
    }
    if not beside:
        return
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(beside):
            archive.write(path, path.relative_to(root))
    content = packed.getvalue()
    session.sparkContext.addPyFile(_kept(f"modules-{hashlib.md5(content).hexdigest()}.zip", content))


def distribute_files(session: SparkSession, configuration: Configuration) -> None:
    """``python.files`` become importable, cached files are copied, and on other machines archives and
    packages are unpacked. Spark copies each file to each worker once."""
    context = session.sparkContext
    for path in _python_files(configuration):
        context.addPyFile(_by_its_own_name(context, _packed(path)))
    if not shares_files(session):
        for file in cached_files(configuration):
            context.addFile(_copy_of(file))
        for entry in _archives_of(configuration):
            path, _, target = entry.partition("#")
            context.addArchive(f"{_by_its_own_name(context, path)}#{target or os.path.basename(path)}")
        for directory in _packages_of(configuration):
            name = _name_of(directory)
            context.addArchive(f"{_zipped(directory, name)}#{name}")


def worker_files(session: SparkSession, configuration: Configuration) -> WorkerFiles:
    """Where workers find archives and packages. On this machine they use directories that are made here; on
    others Spark unpacks both in the directory that they start in."""
    packages, cached = _packages_of(configuration), cached_files(configuration)
    if not shares_files(session):
        return WorkerFiles(
            None, tuple(map(_name_of, packages)), tuple((file.name, file.name) for file in cached)
        )
    archives = _archives_of(configuration)
    return WorkerFiles(
        unpacked(archives) if archives else None,
        tuple(map(str, packages)),
        tuple((file.name, _copy_of(file)) for file in cached),
    )


def _copy_of(file: CachedFile) -> str:
    """As ``_kept``, of a file that may be larger than memory."""
    place = _copied(file.path, _place(file.name, _digest(file.path)))
    if file.executable:
        place.chmod(0o755)
    return str(place)


def _python_files(configuration: Configuration) -> list[str]:
    """Without modules that none can import: another one of their name is named before them."""
    named = [path.removeprefix("file://") for path in (configuration.get(python.FILES) or "").split(",")]
    modules: dict[str, str] = {}
    return [
        path
        for path in filter(None, named)
        if not path.endswith(".py") or modules.setdefault(os.path.basename(path), path) == path
    ]


def _archives_of(configuration: Configuration) -> list[str]:
    named = filter(None, (configuration.get(python.ARCHIVES) or "").split(","))
    return [entry.removeprefix("file://") for entry in named]


def _name_of(packages: Path) -> str:
    return f"requirements-{packages.name}"


def _packages_of(configuration: Configuration) -> list[Path]:
    """The directory of packages for ``python.requirements``: a file, and after ``#`` a directory of
    downloaded packages."""
    file, _, downloaded = (configuration.get(python.REQUIREMENTS) or "").partition("#")
    return [installed(file, downloaded or None)] if file else []


def _zipped(directory: Path, name: str) -> str:
    target = process_directory() / f"{name}.zip"
    if not target.exists():
        shutil.make_archive(str(target.with_suffix("")), "zip", root_dir=directory)
    return str(target)


def _kept(name: str, content: bytes) -> str:
    file = _place(name, hashlib.md5(content).hexdigest())
    if not file.exists():  # else it may be on its way to a worker
        file.write_bytes(content)
    return str(file)


def _place(name: str, digest: str) -> Path:
    """Of a file of this name and content, the same for all jobs: Spark takes a name from one path only."""
    directory = process_directory() / digest
    directory.mkdir(exist_ok=True)
    return directory / name


def _packed(path: str) -> str:
    """A directory of modules as a zip file; anything else as it is."""
    directory = Path(path)
    return _kept(f"{directory.name}.zip", module_archive(directory)) if directory.is_dir() else path


def _by_its_own_name(context: Any, path: str) -> str:
    """Where there is a file with the content of *path*, and a name that no other one has: Spark tells files
    apart by their names alone.

    :raises ConfigurationError: a module that another one of its name is found before, of an earlier job.
    """
    if not os.path.isfile(path):  # elsewhere, or what Spark has something to say about
        return path
    name, digest = os.path.basename(path), _digest(path)
    taken = _NAMES.setdefault(context, {})
    first = taken.setdefault(name, (digest, path))
    if digest == first[0] or path == first[1]:
        return first[1]
    if name.endswith(".py"):
        raise ConfigurationError(
            f"The workers of this Spark application have another module {name} already.",
            operator=python.FILES.key,
            detail=f"{path}; an earlier job has named {first[1]}",
            hint="give the module another name, put it into a zip of another name, or start a new program",
        )
    return str(_copied(path, _place(f"{digest}-{name}", digest)))


def _copied(path: str, place: Path) -> Path:
    """*place* with the content of a file, which it has if it is there."""
    if not place.exists():
        coming = place.with_name(f"{place.name}-{secrets.token_hex(4)}")
        shutil.copyfile(path, coming)
        coming.replace(place)  # a copy that breaks off is none
    return place


def _digest(path: str) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "md5").hexdigest()


#: For each Spark application its files by name: their digest, and where they are.
_NAMES: Final[WeakKeyDictionary[Any, dict[str, tuple[str, str]]]] = WeakKeyDictionary()


def _source_file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py") or "site-packages" in file or module.__name__ == "__main__":
        return None
    return Path(os.path.abspath(file))
