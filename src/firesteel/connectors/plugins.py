"""Discovers connectors and formats of other installed packages by their entry points.

A package declares the module of a connector in the entry point group ``firesteel.connectors``, and that of a
format in ``firesteel.formats``:

    [project.entry-points."firesteel.connectors"]
    mqtt = "firesteel_mqtt"

Programs import it like a built-in one: ``from firesteel.datastream.connectors import mqtt``. The module may
register a record with more details (``connectors/registry.py``). A connector that is part of a program is
registered and needs no entry point.
"""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.connectors.registry import CONNECTORS, FORMATS
from firesteel.program.registry import Registry

__all__ = [
    "FORMATS_GROUP",
    "GROUP",
    "installed_connectors",
    "installed_formats",
    "is_added_connector",
    "is_added_format",
    "load_connector",
    "load_format",
]

GROUP: Final = "firesteel.connectors"
FORMATS_GROUP: Final = "firesteel.formats"


def installed_connectors() -> dict[str, str]:
    """Return the names of the installed connectors, with the packages that provide them."""
    return _installed(GROUP)


def installed_formats() -> dict[str, str]:
    """Return the names of the installed formats, with the packages that provide them."""
    return _installed(FORMATS_GROUP)


def load_connector(name: str) -> Any:
    """Return the module of the connector ``name``, or whatever object the entry point names.

    :raises ConfigurationError: there is none, it cannot be imported, or two packages claim the name.
    """
    return _load(CONNECTORS, GROUP, name)


def load_format(name: str) -> Any:
    """Return the module of the format ``name``; otherwise as ``load_connector``."""
    return _load(FORMATS, FORMATS_GROUP, name)


def is_added_connector(name: str) -> bool:
    """Return true if another package provides this connector."""
    return _is_added(CONNECTORS, GROUP, name)


def is_added_format(name: str) -> bool:
    """Return true if another package provides this format."""
    return _is_added(FORMATS, FORMATS_GROUP, name)


def _is_added(registry: Registry[Any], group: str, name: str) -> bool:
    return name in _by_name(group) or (registry.find(name) is not None and not registry.is_own(name))


def _installed(group: str) -> dict[str, str]:
    return {name: _package(found[0]) for name, found in sorted(_by_name(group).items())}


def _load(registry: Registry[Any], group: str, name: str) -> Any:
    found = _by_name(group).get(name, [])
    if not found:
        return _import_registered(registry, group, name)
    claims = {_package(entry): entry.value for entry in found}
    if registry.is_own(name):
        claims["firesteel"] = registry.named(name).module
    if len(claims) > 1:
        raise ConfigurationError(
            f"Two packages have a {registry.what} {name!r}.",
            detail=", ".join(f"{package} ({place})" for package, place in claims.items()),
            hint="uninstall one of them, or import from it directly",
        )
    try:
        return found[0].load()
    except Exception as e:
        raise ConfigurationError(
            f"The {registry.what} {name!r} cannot be loaded.",
            detail=f"{found[0].value} of the package {_package(found[0])}: {type(e).__name__}: {e}",
            hint="install what it needs, or another version of it",
        ) from e


def _import_registered(registry: Registry[Any], group: str, name: str) -> Any:
    record = registry.find(name)
    if record is None:
        raise ConfigurationError(
            f"There is no {registry.what} {name!r}.",
            detail=f"known are {', '.join(sorted({*registry.names(), *_by_name(group)}))}",
            hint=f"install the package that has it (an entry point in the group {group!r}), or import "
            "the module that registers it",
        )
    try:
        return importlib.import_module(record.module)
    except ImportError as e:
        raise ConfigurationError(
            f"The {registry.what} {name!r} cannot be loaded.",
            detail=f"{record.module}: {type(e).__name__}: {e}",
            hint="a record names the module that programs import",
        ) from e


def _by_name(group: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, []).append(entry)
    return found


def _package(entry: EntryPoint) -> str:
    return "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
