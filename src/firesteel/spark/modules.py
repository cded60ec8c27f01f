"""Modules beside the user's script, for workers on other machines."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from types import ModuleType

from pyspark.sql import SparkSession


def distribute_modules(session: SparkSession, script_dir: str) -> None:
    """Give the modules beside the script to workers on other machines."""
    master = session.sparkContext.master
    if master.startswith("local"):  # local and local-cluster share this machine's files
        return
    root = script_dir
    beside = {
        path
        for module in list(sys.modules.values())
        if (path := _source_file(module)) is not None and path.is_relative_to(root)
    }
    if not beside:
        return
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(beside):
            archive.write(path, path.relative_to(root))
    name = Path(tempfile.mkdtemp(prefix="firesteel-")) / f"modules-{hashlib.md5(packed.getvalue()).hexdigest()}.zip"
    name.write_bytes(packed.getvalue())
    session.sparkContext.addPyFile(str(name))


def _source_file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py") or "site-packages" in file or module.__name__ == "__main__":
        return None
    return Path(os.path.abspath(file))
