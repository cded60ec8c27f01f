"""Packages that only some formats need."""

from __future__ import annotations

import importlib
from typing import Any

from firesteel.common.errors import ConfigurationError


def extra(module: str, format_: str, name: str) -> Any:
    """A module of a package that is installed with the extra ``name``.

    :raises ConfigurationError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"{format_} needs the package {module.partition('.')[0]}, which is not installed.",
            detail=str(error),
            hint=f"pip install 'firesteel[{name}]', here and where Spark's workers run",
        ) from error
