"""CREATE CATALOG: from options to a catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from firesteel.program.execution import Environment, get_executor
from firesteel.program.spark_tables import way_through_spark
from firesteel.sql.catalog import Catalog
from firesteel.sql.connectors.jdbc.catalog import jdbc_catalog
from firesteel.sql.connectors.spark.catalog import OPTIONS, spark_catalog
from firesteel.sql.memory_catalog import MemoryCatalog
from firesteel.util.exceptions import TableException

__all__ = ["make_catalog"]


@dataclass(frozen=True, slots=True)
class _CatalogType:
    """:param make: from the name of the catalog and its options. :param known: all its options."""

    make: Callable[[str, Mapping[str, str], Environment | None], Catalog]
    known: tuple[str, ...]
    required: tuple[str, ...] = ()


def make_catalog(name: str, options: Mapping[str, str], environment: Environment | None = None) -> Catalog:
    """The catalog that ``type`` names.

    :param environment: whose session a catalog of Spark shows; None: of no program.
    :raises TableException: there is no such type, or an option is wrong.
    """
    kind = options.get("type")
    if kind is None:
        raise TableException(
            f"Unable to create catalog '{name}'.",
            detail="Catalog options do not contain an option key 'type' for discovering a catalog.",
            hint=f"'type' is one of {', '.join(sorted(_TYPES))}",
        )
    found = _TYPES.get(kind)
    if found is None:
        raise TableException(
            f"Unable to create catalog '{name}'.",
            detail=f"Could not find any factory for identifier '{kind}'",
            hint=way_through_spark(kind)
            or f"'type' is one of {', '.join(sorted(_TYPES))}; tables of other catalogs are read "
            "through Spark: t_env.from_spark(spark.table(...))",
        )
    given = {k: v for k, v in options.items() if k != "type"}
    unknown = sorted(set(given) - set(found.known))
    missing = [key for key in found.required if key not in given]
    if unknown or missing:
        wrong = f"Unsupported options: {', '.join(unknown)}" if unknown else ""
        raise TableException(
            f"Unable to create catalog '{name}'.",
            detail=wrong or f"Missing required options are: {', '.join(missing)}",
            hint=f"Supported options: {', '.join(found.known)}",
        )
    return found.make(name, given, environment)


def _memory(name: str, options: Mapping[str, str], environment: Environment | None) -> Catalog:
    return MemoryCatalog(name, options.get("default-database", "default"))


def _jdbc(name: str, options: Mapping[str, str], environment: Environment | None) -> Catalog:
    return jdbc_catalog(name, options)


def _spark(name: str, options: Mapping[str, str], environment: Environment | None) -> Catalog:
    assert environment is not None, "catalogs of this type are made by programs"
    return spark_catalog(name, options, lambda: get_executor().spark_tables(environment))


_ACCOUNT: Final = ("default-database", "username", "password", "base-url")
_TYPES: Final[dict[str, _CatalogType]] = {
    "generic_in_memory": _CatalogType(_memory, ("default-database",)),
    "jdbc": _CatalogType(_jdbc, _ACCOUNT, _ACCOUNT),
    "spark": _CatalogType(_spark, OPTIONS),
}
