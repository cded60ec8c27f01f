"""CREATE TABLE ... LIKE: which parts of the other table are taken over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from firesteel.sql.catalog import CatalogTable
from firesteel.sql.schema import ColumnKind, DeclaredSchema
from firesteel.sql.types import DataType
from firesteel.util.exceptions import TableException

__all__ = ["merged_like"]

_DEFAULTS: Final = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "OPTIONS": "OVERWRITING",
    "PARTITIONS": "INCLUDING",
    "WATERMARKS": "INCLUDING",
}


def merged_like(base: CatalogTable, own: CatalogTable, given: Mapping[str, str]) -> CatalogTable:
    """:param given: feature -> INCLUDING, EXCLUDING or OVERWRITING.

    :raises TableException: both tables have something, and the statement does not say that it is overwritten.
    """
    every = given.get("ALL")
    choice = {
        k: given.get(k, every if every in ("INCLUDING", "EXCLUDING") else v) for k, v in _DEFAULTS.items()
    }
    if every == "INCLUDING" and "OPTIONS" not in given:
        choice["OPTIONS"] = "INCLUDING"
    _check(base, own, choice)
    schema = _schema(base.schema, own.schema, choice)
    return replace(
        own,
        schema=schema,
        options=_options(base.options, own.options, choice["OPTIONS"]),
        partition_keys=own.partition_keys or base.partition_keys,
        distribution=own.distribution or base.distribution,
    )


def _check(base: CatalogTable, own: CatalogTable, choice: Mapping[str, str]) -> None:
    """EXCLUDING lets the statement have partitions or a distribution of its own; without them it gets those
    of the other table all the same, as in Flink."""
    for feature, theirs, ours in (
        ("PARTITIONS", base.partition_keys, own.partition_keys),
        ("DISTRIBUTION", base.distribution, own.distribution),
    ):
        if theirs and ours and choice[feature] != "EXCLUDING":
            raise TableException(
                f"The base table already has {feature.lower()} defined.",
                hint=f"You might want to specify EXCLUDING {feature}.",
            )


def _schema(base: DeclaredSchema, own: DeclaredSchema, choice: Mapping[str, str]) -> DeclaredSchema:
    kinds = {ColumnKind.COMPUTED: "GENERATED", ColumnKind.METADATA: "METADATA"}
    columns = {}
    # a column of the key stays NOT NULL, with the key or without it
    key_columns = base.primary_key.columns if base.primary_key is not None else ()
    for column in base.columns:
        feature = kinds.get(column.kind)
        if column.name in key_columns:
            column = replace(column, data_type=_not_null(column.data_type))
        if feature is None or choice[feature] != "EXCLUDING":
            columns[column.name] = column
    for column in own.columns:
        known = columns.get(column.name)
        feature = kinds.get(column.kind)
        if known is not None and (
            feature is None or known.kind is not column.kind or choice[feature] != "OVERWRITING"
        ):
            raise TableException(
                f"A column named '{column.name}' already exists in the base table.",
                hint="OVERWRITING GENERATED or METADATA replaces computed and metadata columns",
            )
        columns[column.name] = column
    watermarks = base.watermarks if choice["WATERMARKS"] != "EXCLUDING" else ()
    if watermarks and own.watermarks:
        if choice["WATERMARKS"] != "OVERWRITING":
            raise TableException(
                f"There already exists a watermark spec for column '{own.watermarks[0].column}' in "
                "the base table.",
                hint="OVERWRITING WATERMARKS or EXCLUDING WATERMARKS",
            )
        watermarks = ()
    key = base.primary_key if choice["CONSTRAINTS"] != "EXCLUDING" else None
    if key is not None and own.primary_key is not None:
        raise TableException("The base table already has a primary key.", hint="EXCLUDING CONSTRAINTS")
    return DeclaredSchema(tuple(columns.values()), (*watermarks, *own.watermarks), own.primary_key or key)


def _not_null(data_type: DataType | str | None) -> DataType | str | None:
    if isinstance(data_type, str):
        return data_type if data_type.upper().endswith("NOT NULL") else f"{data_type} NOT NULL"
    return data_type and data_type.not_null()


def _options(base: Mapping[str, str], own: Mapping[str, str], choice: str) -> dict[str, str]:
    if choice == "EXCLUDING":
        return dict(own)
    twice = sorted(set(base) & set(own))
    if twice and choice != "OVERWRITING":
        raise TableException(
            f"There already exists an option ['{twice[0]}' -> '{base[twice[0]]}'] in the base table.",
            hint="OVERWRITING OPTIONS or EXCLUDING OPTIONS",
        )
    return {**base, **own}
