"""Directories of Python modules as archives that can be imported from."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

__all__ = ["module_archive"]


def module_archive(directory: Path) -> bytes:
    """Return a zip file from which the modules in *directory* are imported by their names, as in PyFlink, and
    behind the name of the directory, as of a package."""
    files = [file for file in sorted(directory.rglob("*")) if file.is_file()]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in files:
            inner = file.relative_to(directory)
            if "__pycache__" not in inner.parts:
                archive.write(file, inner)
                archive.write(file, directory.name / inner)
    return packed.getvalue()
