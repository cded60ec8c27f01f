"""Maps Avro schemas to columns (parquet-avro: ``AvroSchemaConverter``), for Parquet files of Avro records.

A field of type null has no column. A union of null and one type is an optional column of that type. Any other
union is a struct of optional columns ``member0``, ``member1`` and so on, one of which has a value.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import ConfigurationError, TypeMismatchError
from firesteel.common.extras import extra
from firesteel.formats.avro_schema import Convert, each, each_value, parse_avro, unless_none


@dataclass(frozen=True, slots=True)
class AvroColumns:
    """How generic records (dicts) map to rows of columns.

    :param schema: a ``pyarrow.Schema``.
    :param read: dict of columns -> record; *write*: record -> dict of columns. None: they are the same.
    """

    schema: Any
    read: Convert
    write: Convert


@dataclass(frozen=True, slots=True)
class _Column:
    """:param type: a ``pyarrow.DataType``, or None for null, which has no column."""

    type: Any
    nullable: bool = False
    read: Convert = None
    write: Convert = None


def avro_columns(text: str) -> AvroColumns:
    """Return the columns of a schema.

    :raises ConfigurationError: the schema is not a record, contains itself, or has a record, array or map
        that contains only null.
    """
    import pyarrow as pa

    schema = parse_avro(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ConfigurationError("the Avro schema of a Parquet file must be a record", detail=text[:500])
    column = _Columns().column(schema, "")
    metadata = {"parquet.avro.schema": text}
    return AvroColumns(pa.schema(list(column.type), metadata=metadata), column.read, column.write)


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "string": pa.string(), "enum": pa.string(), "bytes": pa.binary(),
    }  # fmt: skip


def _logical_types() -> dict[tuple[str, str], Any]:
    import pyarrow as pa

    return {
        ("int", "date"): pa.date32(),
        ("int", "time-millis"): pa.time32("ms"),
        ("long", "time-micros"): pa.time64("us"),
        ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
        ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
        ("long", "local-timestamp-millis"): pa.timestamp("ms"),
        ("long", "local-timestamp-micros"): pa.timestamp("us"),
    }


class _Columns:
    """Builds the columns of one schema; ``_named`` holds the named types met so far, by full name."""

    def __init__(self) -> None:
        self._named: dict[str, _Column | None] = {}  # None: the type is being built
        self._types = _types()
        self._logical = _logical_types()

    def column(self, schema: Any, path: str) -> _Column:
        if isinstance(schema, list):
            return self._union(schema, path)
        if isinstance(schema, str):
            return self._of_name(schema, path)
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.column(kind, path)
        if "name" in schema:
            self._named[schema["name"]] = None
        column = self._of_kind(kind, schema, path)
        if "name" in schema:
            self._named[schema["name"]] = column
        return column

    def _of_kind(self, kind: str, schema: dict[str, Any], path: str) -> _Column:
        match kind:
            case "record":
                return self._record(schema, path)
            case "array":
                return self._array(self.column(schema["items"], f"{path} element"), path)
            case "map":
                return self._map(self.column(schema["values"], f"{path} value"), path)
        return self._plain(kind, schema, path)

    def _of_name(self, name: str, path: str) -> _Column:
        if name == "null":
            return _Column(None, nullable=True)
        if name in self._types:
            return _Column(self._types[name])
        known = self._named.get(name)
        if known is None:
            raise ConfigurationError(
                f"the Avro record {name} contains itself: it has no columns",
                detail=f"at {path}",
                hint="write such records to Avro files: AvroBulkWriters.for_generic_record(schema)",
            )
        return known

    def _plain(self, kind: str, schema: dict[str, Any], path: str) -> _Column:
        import pyarrow as pa

        logical = schema.get("logicalType", "")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            precision, scale = schema["precision"], schema.get("scale", 0)
            return _Column((pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale))
        if logical == "uuid" and kind == "string":
            return _Column(pa.string(), read=uuid.UUID, write=str)
        if kind == "fixed":
            return _Column(pa.binary(schema["size"]))
        if (kind, logical) in self._logical:
            return _Column(self._logical[kind, logical])
        return self._of_name(kind, path)

    def _record(self, schema: dict[str, Any], path: str) -> _Column:
        import pyarrow as pa

        columns = {f["name"]: self.column(f["type"], f"{path}.{f['name']}") for f in schema["fields"]}
        fields = [pa.field(n, c.type, c.nullable) for n, c in columns.items() if c.type is not None]
        if not fields:
            raise _nothing("record", path)
        reads = {name: c.read for name, c in columns.items() if c.read is not None}
        writes = {name: c.write for name, c in columns.items() if c.write is not None}
        nulls = [name for name, c in columns.items() if c.type is None]
        read = _fields(reads, list(columns)) if reads or nulls else None
        write = _fields(writes, [name for name in columns if name not in nulls]) if writes or nulls else None
        return _Column(pa.struct(fields), False, read, write)

    def _array(self, item: _Column, path: str) -> _Column:
        import pyarrow as pa

        if item.type is None:
            raise _nothing("array", path)
        element = pa.field("element", item.type, item.nullable)
        return _Column(pa.list_(element), False, each(item.read), each(item.write))

    def _map(self, item: _Column, path: str) -> _Column:
        import pyarrow as pa

        if item.type is None:
            raise _nothing("map", path)
        value = pa.field("value", item.type, item.nullable)
        return _Column(pa.map_(pa.string(), value), False, each_value(item.read), each_value(item.write))

    def _union(self, branches: list[Any], path: str) -> _Column:
        others = [branch for branch in branches if branch != "null"]
        nullable = len(others) < len(branches)
        if not others:
            return _Column(None, nullable=True)
        members = [self.column(branch, path) for branch in others]
        if len(members) == 1 and nullable:
            (member,) = members
            return _Column(member.type, True, unless_none(member.read), unless_none(member.write))
        return _group(others, members, nullable, path)


def _group(branches: list[Any], members: list[_Column], nullable: bool, path: str) -> _Column:
    """Return a struct with a column for each type of a union."""
    import pyarrow as pa

    names = [f"member{number}" for number in range(len(members))]
    fields = [pa.field(name, member.type) for name, member in zip(names, members, strict=True)]
    validate = extra("fastavro", "Avro", "avro").validation.validate

    def write(value: Any) -> dict[str, Any] | None:
        if value is None and nullable:
            return None
        for name, branch, member in zip(names, branches, members, strict=True):
            if validate(value, branch, raise_errors=False):
                return {name: value if member.write is None else member.write(value)}
        raise TypeMismatchError(
            f"a value of field {path[1:]!r} is of none of the types of its union",
            detail=f"got {value!r:.200}",
        )

    def read(value: dict[str, Any] | None) -> Any:
        for name, member in zip(names, members, strict=True):
            found = None if value is None else value.get(name)
            if found is not None:
                return found if member.read is None else member.read(found)
        return None

    return _Column(pa.struct(fields), nullable, read, write)


def _nothing(kind: str, path: str) -> ConfigurationError:
    at = f"at {path[1:]}" if path else "the schema itself"
    return ConfigurationError(f"a Parquet file has no {kind} of nothing but null", detail=at)


def _fields(converters: dict[str, Callable[[Any], Any]], names: Sequence[str]) -> Callable[[Any], Any]:
    """Return the function that picks *names* from a dict; missing ones are None."""

    def convert(record: Any) -> dict[str, Any]:  # hot
        found = {name: record.get(name) for name in names}
        for name, change in converters.items():
            found[name] = change(found[name])
        return found

    return convert
