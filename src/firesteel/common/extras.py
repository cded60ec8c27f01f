"""Packages that only some connectors and formats need."""

from __future__ import annotations

import importlib
from typing import Any

from firesteel.common._requirements import install_command
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
        needed = package or module.partition(".")[0]
        raise ConfigurationError(
            f"{user} needs the package {needed}, which is not installed.",
            detail=str(error),
            hint=f"{install_command(name, needed)}, here and where Spark's workers run",
        ) from error
