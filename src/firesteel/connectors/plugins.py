"""Connectors from other packages, found by what these say of themselves when they are installed.

A package names the module of its connector in the entry point group ``firesteel.connectors``:

    [project.entry-points."firesteel.connectors"]
    mqtt = "firesteel_mqtt"

and programs import it like those that Firesteel brings: ``from firesteel.datastream.connectors import mqtt``.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from firesteel.common.errors import ConfigurationError

__all__ = ["GROUP", "installed_connectors", "load_connector"]

GROUP: Final = "firesteel.connectors"


def installed_connectors() -> dict[str, str]:
    """The names of the connectors that are installed, with the packages that they come from."""
    return {name: _package(found[0]) for name, found in sorted(_by_name().items())}


def load_connector(name: str) -> Any:
    """The module (or whatever the entry point names) of the connector ``name``.

    :raises ConfigurationError: it is not installed, cannot be imported, or two packages claim the name.
    """
    known = _by_name()
    found = known.get(name, [])
    if not found:
        raise ConfigurationError(
            f"There is no connector {name!r}.",
            detail=f"installed from other packages are: {', '.join(sorted(known)) or 'none'}",
            hint=f"install the package that has it; it is found by its entry point in the group {GROUP!r}",
        )
    if len({_package(entry) for entry in found}) > 1:
        raise ConfigurationError(
            f"Two packages have a connector {name!r}.",
            detail=", ".join(f"{_package(entry)} ({entry.value})" for entry in found),
            hint="uninstall one of them, or import from it directly",
        )
    try:
        return found[0].load()
    except Exception as e:
        raise ConfigurationError(
            f"The connector {name!r} cannot be loaded.",
            detail=f"{found[0].value} of the package {_package(found[0])}: {type(e).__name__}: {e}",
            hint="install what it needs, or another version of it",
        ) from e


def _by_name() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, []).append(entry)
    return found


def _package(entry: EntryPoint) -> str:
    return "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
