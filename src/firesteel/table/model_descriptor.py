"""What a model is made from (PyFlink: ``pyflink.table.model_descriptor``)."""

from __future__ import annotations

from typing import Any

from firesteel.sql.catalog import CatalogModel
from firesteel.table.schema import Schema
from firesteel.table.table_descriptor import _option

__all__ = ["ModelDescriptor"]


class ModelDescriptor:
    """A provider with options, and the schemas of input and output. Made by ``for_provider``."""

    class Builder:
        """Puts a ModelDescriptor together."""

        def __init__(self, provider: str) -> None:
            self._options: dict[str, str] = {"provider": provider}
            self._input: Schema | None = None
            self._output: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            self._input = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            self._output = output_schema
            return self

        def option(self, key: Any, value: Any) -> ModelDescriptor.Builder:
            """Set an option."""
            name, text = _option(key, value)
            self._options[name] = text
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            return ModelDescriptor(dict(self._options), self._input, self._output, self._comment)

    def __init__(
        self,
        options: dict[str, str],
        input_schema: Schema | None,
        output_schema: Schema | None,
        comment: str | None,
    ) -> None:
        self._options = options
        self._input = input_schema
        self._output = output_schema
        self._comment = comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        return ModelDescriptor.Builder(provider)

    def get_options(self) -> dict[str, str]:
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        return self._input

    def get_output_schema(self) -> Schema | None:
        return self._output

    def get_comment(self) -> str | None:
        return self._comment

    def _catalog_model(self) -> CatalogModel:
        given, made = (self._input or Schema())._declared, (self._output or Schema())._declared
        return CatalogModel(given, made, dict(self._options), self._comment or "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelDescriptor) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._options.items())))

    def __str__(self) -> str:
        return f"ModelDescriptor({self._options})"
