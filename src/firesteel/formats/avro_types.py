"""Avro schemas, and the type of generic records."""

from __future__ import annotations

from pathlib import Path

from firesteel.common.errors import PathNotFoundError
from firesteel.common.typeinfo import PickledBytesTypeInfo
from firesteel.formats.avro_schema import parse_avro


class AvroSchema:
    """An Avro schema. ``str()`` gives its JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text
        parse_avro(text)

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and parse_avro(other._text) == parse_avro(self._text)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Parse a schema from JSON text."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Parse a schema from a file."""
        path = Path(file_path)
        if not path.is_file():
            raise PathNotFoundError(f"there is no Avro schema at {file_path}")
        return AvroSchema(path.read_text(encoding="utf-8"))


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """The type of generic records: a record or map is a dict, an array a list, a timestamp a datetime in UTC,
    a UUID a ``uuid.UUID``. Nothing is converted; a sink checks records against its schema."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__()
        self.schema = schema

    def __repr__(self) -> str:
        return "GenericRecordAvroTypeInfo"
