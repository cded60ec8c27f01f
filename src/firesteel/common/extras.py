"""Packages that only some connectors and formats need."""

from __future__ import annotations

import importlib
from typing import Any

from firesteel.common.errors import ConfigurationError


def extra(module: str, user: str, name: str, package: str | None = None) -> Any:
    """A module of a package that is installed with the extra ``name``.

    :param user: what needs it.
    :param package: where it is not called as the module.

    :raises ConfigurationError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigurationError(
            f"{user} needs the package {package or module.partition('.')[0]}, which is not installed.",
            detail=str(error),
            hint=f"pip install 'firesteel[{name}]', here and where Spark's workers run",
        ) from error
