"""Formats of tables: bytes of messages and lines of files to columns, and back."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.sql.connectors.options import Option, text

__all__ = ["format_options"]


def format_options(key: str, given: Mapping[str, str]) -> list[Option]:
    """The options of the format that the option *key* names, with their prefixes; the option itself, too."""
    from firesteel.sql.connectors.formats.registry import TABLE_FORMATS, format_named

    name = given.get(key)
    if name is None:
        return [text(key)]
    found = format_named(name)
    del TABLE_FORMATS
    prefix = f"{key.removesuffix('format')}{name}."
    options = [Option(prefix + o.key, o.read, o.default, o.required, o.words) for o in found.options]
    return [text(key), *options]
