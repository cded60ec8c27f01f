"""Checks of the ``python.*`` settings: what they name must be there, and must have an effect."""

from __future__ import annotations

import os
import shutil
import sys

from firesteel.common.configuration import Configuration
from firesteel.common.errors import PathNotFoundError, UnsupportedFeatureError
from firesteel.common.options import python


def check_python_settings(configuration: Configuration) -> None:
    """Raise PathNotFoundError for a file that is not there, UnsupportedFeatureError for another Python."""
    for option in (python.FILES, python.ARCHIVES):
        for entry in filter(None, (configuration.get(option) or "").split(",")):
            _require_path(option.key, entry.partition("#")[0])
    for path in filter(None, (configuration.get(python.REQUIREMENTS) or "").split("#")):
        _require_path(python.REQUIREMENTS.key, path)
    for option in (python.EXECUTABLE, python.CLIENT_EXECUTABLE):
        name = configuration.get(option)
        if name is not None:
            require_this_python(name, option.key)


def _require_path(key: str, path: str) -> None:
    local = path.removeprefix("file://")
    if "://" not in local and not os.path.exists(local):
        raise PathNotFoundError(
            f"The file that {key} names is not there.",
            operator=key,
            detail=path,
            hint=f"the path is looked up from {os.getcwd()}",
        )


def require_this_python(name: str, setting: str) -> None:
    """Functions are pickled by the Python that runs the program, so that of the workers must be the same."""
    path = shutil.which(name)
    if path is None or not os.path.samefile(path, sys.executable):
        raise UnsupportedFeatureError(
            "The Python of the workers cannot be chosen by the program.",
            operator=setting,
            detail=f"asked for {name}, this program runs on {sys.executable}",
            hint="start the program with it; for Spark's workers alone set spark.pyspark.python or the "
            "environment variable PYSPARK_PYTHON",
        )
