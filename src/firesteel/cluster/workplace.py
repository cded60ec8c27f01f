"""The files of a job where its process runs: fetched from the blobs, checked, and put in their places."""

from __future__ import annotations

import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from firesteel.cluster.blobs import BlobStore
from firesteel.cluster.store import JobRecord
from firesteel.common.configuration import Configuration
from firesteel.common.options import execution, pipeline, python, recovery, rest
from firesteel.rest.messages.submission import ShippedFile, Submission

#: Of a session's own: what a job says of it comes too late.
_OF_THE_CLUSTER = (rest.PORT, rest.BIND_PORT, execution.SPARK_MASTER)


@dataclass(frozen=True, slots=True)
class Workplace:
    """:param modules: directories and archives that modules are imported from."""

    configuration: Configuration
    modules: tuple[str, ...]


def set_up(record: JobRecord, blobs: BlobStore, place: Path, defaults: dict[str, str]) -> Workplace:
    """Make the files of a job; ``defaults``: the settings of the cluster.

    :raises StateCorruptionError: a blob is damaged.
    """
    submission = record.submission
    configuration = Configuration.from_dict(defaults | submission.settings)
    for option in _OF_THE_CLUSTER:
        configuration.remove_config(option.key)
    configuration.set_string(recovery.JOB_ID.key, submission.job_id)
    code = place / "code"
    code.mkdir(parents=True, exist_ok=True)
    modules = [str(code)]
    found: dict[str, list[tuple[ShippedFile, Path]]] = {}
    for number, file in enumerate(submission.files):
        path = _written(file, blobs.read(file.digest), place, number)
        found.setdefault(file.kind, []).append((file, path))
    for _, path in found.get("code", ()):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(code)
    for file, path in found.get("module", ()):
        modules.append(_importable(file, path))
    _name(configuration, found)
    return Workplace(configuration, tuple(modules))


def script_of(submission: Submission, place: Path) -> str | None:
    """Where the program's file is."""
    return None if submission.script is None else str(place / "code" / submission.script)


def _written(file: ShippedFile, content: bytes, place: Path, number: int) -> Path:
    directory = place / "files" / str(number)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / file.name
    path.write_bytes(content)
    if file.kind == "packages":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(directory / "packages")
        return directory / "packages"
    return path


def _importable(file: ShippedFile, path: Path) -> str:
    """What goes on the path of modules."""
    return str(path.parent) if file.name.endswith(".py") else str(path)


def _name(configuration: Configuration, found: dict[str, list[tuple[ShippedFile, Path]]]) -> None:
    """Let the settings name the files that are here."""
    configuration.remove_config(python.FILES.key)  # they are on the path of modules
    archives = [f"{path}#{file.target}" for file, path in found.get("archive", ())]
    _set(configuration, python.ARCHIVES.key, ",".join(archives))
    requirements = [str(path) for _, path in found.get("requirements", ())]
    packages = [str(path) for _, path in found.get("packages", ())]
    _set(configuration, python.REQUIREMENTS.key, "#".join([*requirements, *packages]))
    cached = [
        f"name:{file.target},path:{path},executable:{str(file.executable).lower()}"
        for file, path in found.get("cached", ())
    ]
    _set(configuration, pipeline.CACHED_FILES.key, ";".join(cached))


def _set(configuration: Configuration, key: str, value: str) -> None:
    if value:
        configuration.set_string(key, value)
    else:
        configuration.remove_config(key)


def enter(workplace: Workplace, place: Path) -> None:
    """Work there, and import from there."""
    os.chdir(place)
    sys.path[:0] = [path for path in workplace.modules if path not in sys.path]
