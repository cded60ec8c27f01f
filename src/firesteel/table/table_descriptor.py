"""What a table is made from: a connector, options, a schema."""

from __future__ import annotations

from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.table.schema import Schema

__all__ = ["TableDescriptor"]


class TableDescriptor:
    """The connector of a table with its options (Flink: ``TableDescriptor``). Made by ``for_connector``."""

    def __init__(self, connector: str, schema: Schema, options: dict[str, str]) -> None:
        self.connector = connector
        self.schema = schema
        self.options = options

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema:
        return self.schema

    def get_options(self) -> dict[str, str]:
        return {"connector": self.connector, **self.options}

    class Builder:
        """Puts a TableDescriptor together."""

        def __init__(self, connector: str) -> None:
            self._connector = connector
            self._schema: Schema | None = None
            self._options: dict[str, str] = {}

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            if not isinstance(schema, Schema):
                raise ProgramError("Not a Schema.", detail=f"got {schema!r}")
            self._schema = schema
            return self

        def option(self, key: str, value: str) -> TableDescriptor.Builder:
            """Set an option; the connector checks it when the table is created."""
            if not isinstance(key, str) or not isinstance(value, str):
                raise ConfigurationError("Options of a table are texts.", detail=f"{key!r}: {value!r}")
            self._options[key] = value
            return self

        def build(self) -> TableDescriptor:
            if self._schema is None:
                raise ProgramError("A table needs a schema.", detail=f"connector {self._connector!r}")
            return TableDescriptor(self._connector, self._schema, dict(self._options))
