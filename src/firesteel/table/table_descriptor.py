"""What a table is made from: a connector, options, a schema (PyFlink: ``pyflink.table.table_descriptor``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.sql.catalog import CatalogTable
from firesteel.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


def _option(key: Any, value: Any) -> tuple[str, str]:
    name = key.key if isinstance(key, ConfigOption) else key
    if isinstance(value, bool):
        value = str(value).lower()
    if isinstance(value, int | float):
        value = str(value)
    if not isinstance(name, str) or not isinstance(value, str):
        raise ConfigurationError("Options of a table are texts.", detail=f"{key!r}: {value!r}")
    return name, value


class FormatDescriptor:
    """A format with its options. Made by ``for_format``."""

    class Builder:
        """Puts a FormatDescriptor together."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: Any) -> FormatDescriptor.Builder:
            """Set an option, without the prefix of the format."""
            name, text = _option(key, value)
            self._options[name] = text
            return self

        def build(self) -> FormatDescriptor:
            return FormatDescriptor(self._format, dict(self._options))

    def __init__(self, format: str, options: dict[str, str]) -> None:
        self._format = format
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        return self._format

    def get_options(self) -> dict[str, str]:
        return dict(self._options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self._format, tuple(sorted(self._options.items()))))

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self._options.items())
        return f"{self._format}[{{{options}}}]"


class TableDescriptor:
    """The connector of a table with its options. Made by ``for_connector``."""

    class Builder:
        """Puts a TableDescriptor together."""

        def __init__(self, connector: str | None = None) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {} if connector is None else {"connector": connector}
            self._partition_keys: list[str] = []
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            if not isinstance(schema, Schema):
                raise ProgramError("Not a Schema.", detail=f"got {schema!r}")
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            """Set an option; the connector checks it when the table is used."""
            name, text = _option(key, value)
            self._options[name] = text
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: ConfigOption[str] | str | None = None
        ) -> TableDescriptor.Builder:
            """Set the format, with its options; ``format_option`` is ``format``, ``key.format`` or
            ``value.format``."""
            key = format_option.key if isinstance(format_option, ConfigOption) else format_option or "format"
            if isinstance(format, str):
                format = FormatDescriptor.for_format(format).build()
            self._options[key] = format.get_format()
            prefix = "" if key == "format" else key.removesuffix("format")
            for name, value in format.get_options().items():
                self._options[f"{prefix}{format.get_format()}.{name}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Say by which columns the table is split."""
            self._partition_keys += partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            return TableDescriptor(
                self._schema, dict(self._options), list(self._partition_keys), self._comment
            )

    def __init__(
        self,
        schema: Schema | None,
        options: dict[str, str],
        partition_keys: list[str] | None = None,
        comment: str | None = None,
    ) -> None:
        self._schema = schema
        self._options = options
        self._partition_keys = partition_keys or []
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        return TableDescriptor.Builder(connector)

    @property
    def connector(self) -> str:
        return self._options.get("connector", "")

    def get_schema(self) -> Schema | None:
        return self._schema

    def get_options(self) -> dict[str, str]:
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        return self._comment

    def _catalog_table(self) -> CatalogTable:
        """As a catalog keeps it."""
        declared = (self._schema or Schema())._declared
        return CatalogTable(
            schema=declared,
            options=dict(self._options),
            partition_keys=tuple(self._partition_keys),
            comment=self._comment or "",
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self._schema, tuple(sorted(self._options.items()))))

    def __str__(self) -> str:
        options = ",\n".join(f"  '{k}' = '{v}'" for k, v in self._options.items())
        partitioned = (
            f"\nPARTITIONED BY ({', '.join(f'`{k}`' for k in self._partition_keys)})"
            if self._partition_keys
            else ""
        )
        comment = f"\nCOMMENT '{self._comment}'" if self._comment else ""
        return (
            f"{self._schema if self._schema is not None else ''}{comment}{partitioned}\nWITH (\n{options}\n)"
        )
