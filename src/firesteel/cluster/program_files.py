"""The files of a program that travel with its job: its modules, and what its settings name."""

from __future__ import annotations

import io
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError
from firesteel.common.options import pipeline, python
from firesteel.program.module_archives import module_archive
from firesteel.rest.messages.submission import FileKind, ShippedFile

CODE: Final = "code.zip"
_MOST_BYTES: Final = 64 << 20  # of modules; what is more is data, which does not travel so
_NO_TIME: Final = (1980, 1, 1, 0, 0, 0)  # so that the same files make the same archive
_NOT_CODE: Final = frozenset(("__pycache__", "node_modules"))


@dataclass(frozen=True, slots=True)
class Carried:
    """A file, and its content."""

    file: ShippedFile
    content: bytes


def script_path() -> Path | None:
    """The file of the program; None: it comes from a console, or a string."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return Path(os.path.abspath(file)) if file and os.path.isfile(file) else None


def code_archive() -> bytes | None:
    """The script, the modules beside it, and those that it has imported and that are not installed."""
    files: dict[str, Path] = {}
    script = script_path()
    if script is not None:
        files[script.name] = script
        for path in sorted(script.parent.glob("*.py")):
            files.setdefault(path.name, path)
    # A package once, however many of its modules there are.
    for root, top in dict.fromkeys(filter(None, map(_place_of, list(sys.modules.values())))):
        for path in _files_below(top):
            files.setdefault(str(path.relative_to(root)), path)
    return _zipped(files) if files else None


def named_files(configuration: Configuration) -> Iterator[Carried]:
    """What ``python.files``, ``python.archives``, ``python.requirements`` and cached files name."""
    for entry in filter(None, (configuration.get(python.FILES) or "").split(",")):
        yield _carried(_local(entry), "module")
    for entry in filter(None, (configuration.get(python.ARCHIVES) or "").split(",")):
        path, _, target = entry.partition("#")
        yield _carried(_local(path), "archive", target or Path(path).name)
    requirements, _, packages = (configuration.get(python.REQUIREMENTS) or "").partition("#")
    if requirements:
        yield _carried(_local(requirements), "requirements")
    if packages:
        yield _carried(_local(packages), "packages")
    for entry in filter(None, (configuration.get(pipeline.CACHED_FILES) or "").split(";")):
        fields = dict(field.split(":", 1) for field in entry.split(","))
        found = _carried(_local(fields["path"]), "cached", fields["name"], fields["executable"] == "true")
        yield found


def _carried(path: Path, kind: FileKind, target: str | None = None, executable: bool = False) -> Carried:
    name = path.name
    if path.is_dir():
        name, content = f"{name}.zip", module_archive(path) if kind == "module" else _packed(path)
    else:
        content = path.read_bytes()
    return Carried(ShippedFile(name, "", kind, target, executable), content)


def _packed(directory: Path) -> bytes:
    """What is in it as a zip file."""
    with tempfile.TemporaryDirectory() as place:
        made = shutil.make_archive(f"{place}/packed", "zip", root_dir=directory)
        return Path(made).read_bytes()


def _local(path: str) -> Path:
    return Path(path.removeprefix("file://"))


def _place_of(module: ModuleType) -> tuple[Path, Path] | None:
    """Return the directory that a module of the user's is found in, and its file or top package there."""
    file = getattr(module, "__file__", None)
    if not file or module.__name__.partition(".")[0] in ("firesteel", "pyflink", "__main__"):
        return None
    path = Path(os.path.abspath(file))
    if _is_installed(path) or path.suffix not in (".py", ".so"):
        return None
    parts = module.__name__.split(".")
    levels = len(parts) - (0 if path.name == "__init__.py" else 1)
    root = path.parents[levels]
    is_file = len(parts) == 1 and path.name != "__init__.py"
    return root, path if is_file else root / parts[0]


def _files_below(top: Path) -> Iterator[Path]:
    if top.is_file():
        yield top
        return
    for found in sorted(top.rglob("*")):
        inner = found.relative_to(top).parts
        if found.is_file() and not any(part in _NOT_CODE or part.startswith(".") for part in inner):
            yield found


def _is_installed(path: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    places = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), sys.prefix}
    return any(path.is_relative_to(place) for place in places)


def _zipped(files: dict[str, Path]) -> bytes:
    packed = io.BytesIO()
    size = 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            content = files[name].read_bytes()
            size += len(content)
            if size > _MOST_BYTES:
                raise ConfigurationError(
                    "The modules of the program are too large to travel with each job.",
                    detail=f"those beside {script_path()}, and those imported, have more than "
                    f"{_MOST_BYTES >> 20} MiB",
                    hint="install what is large where the cluster runs, or name it as an archive",
                )
            member = zipfile.ZipInfo(name, _NO_TIME)
            member.external_attr = (files[name].stat().st_mode & 0o777) << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
