"""CREATE CATALOG: from options to a catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from firesteel.sql.catalog import Catalog
from firesteel.sql.memory_catalog import MemoryCatalog
from firesteel.util.exceptions import TableException

__all__ = ["make_catalog"]


def make_catalog(name: str, options: Mapping[str, str]) -> Catalog:
    """The catalog that ``type`` names.

    :raises TableException: there is no such type, or an option is wrong.
    """
    kind = options.get("type")
    make = _TYPES.get(kind or "")
    if make is None:
        raise TableException(
            f"Unable to create catalog '{name}'.",
            detail=f"Could not find any factory for identifier '{kind}'",
            hint=f"'type' is one of {', '.join(sorted(_TYPES))}; tables of other catalogs are read "
            "through Spark: t_env.from_spark(spark.table(...))",
        )
    return make(name, {k: v for k, v in options.items() if k != "type"})


def _only(name: str, options: Mapping[str, str], known: tuple[str, ...]) -> None:
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise TableException(
            f"Unable to create catalog '{name}'.",
            detail=f"Unsupported options: {', '.join(unknown)}",
            hint=f"Supported options: {', '.join(known)}",
        )


def _memory(name: str, options: Mapping[str, str]) -> Catalog:
    _only(name, options, ("default-database",))
    return MemoryCatalog(name, options.get("default-database", "default"))


_TYPES: Final[dict[str, Callable[[str, Mapping[str, str]], Catalog]]] = {"generic_in_memory": _memory}
