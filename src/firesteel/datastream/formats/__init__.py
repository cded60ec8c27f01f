"""Formats (PyFlink: ``pyflink.datastream.formats``).

Formats from other packages are imported from here by their names, see ``firesteel.connectors.plugins``.
"""

from __future__ import annotations

from typing import Any

from firesteel.connectors.plugins import is_added_format, load_format


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not is_added_format(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_format(name)
