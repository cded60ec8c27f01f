"""Avro schemas, and the types of the rows that they describe (Flink: ``AvroSchemaConverter``).

Logical types follow Flink's "legacy" mapping, that of its Row schemas. Date, time and timestamp are SQL
types, and a decimal is a BigDecimal. ``local-timestamp-*``, ``uuid`` and ``duration`` are the underlying
long, string and bytes. A timestamp is a naive datetime in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row, _make_row

Convert = Callable[[Any], Any] | None  # None: the value is not converted

# (type, logical type) -> the logical type to tell the library, and the declared type
_LOGICAL: Final[dict[tuple[str, str], tuple[str, Callable[[], TypeInformation]]]] = {
    ("int", "date"): ("date", Types.SQL_DATE),
    ("int", "time-millis"): ("time-millis", Types.SQL_TIME),
    ("long", "time-micros"): ("time-micros", Types.SQL_TIME),
    # The same bytes; with "local" the library uses a naive datetime.
    ("long", "timestamp-millis"): ("local-timestamp-millis", Types.SQL_TIMESTAMP),
    ("long", "timestamp-micros"): ("local-timestamp-micros", Types.SQL_TIMESTAMP),
    ("bytes", "decimal"): ("decimal", Types.BIG_DEC),
    ("fixed", "decimal"): ("decimal", Types.BIG_DEC),
}
_TYPES: Final[dict[str, Callable[[], TypeInformation]]] = {
    "null": Types.PICKLED_BYTE_ARRAY,  # only None
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
    "bytes": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "fixed": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}


def parse_avro(text: str) -> Any:
    """Return an Avro schema in the library's form, with full names.

    :raises ConfigurationError: it is not an Avro schema, or the extra is not installed.
    """
    library = extra("fastavro", "Avro", "avro")
    try:
        return library.parse_schema(json.loads(text))
    except (ValueError, TypeError, KeyError, library.schema.SchemaParseException) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigurationError("not an Avro schema", detail=f"{reason}: {text[:500]}") from error


@dataclass(frozen=True, slots=True)
class AvroRows:
    """How the records of a schema map to rows. ``wire`` is the schema to read and write them with;
    ``from_datum`` and ``to_datum`` convert between the library's dicts and rows."""

    wire: Any
    type_info: TypeInformation
    from_datum: Callable[[Any], Row]
    to_datum: Callable[[Any], dict[str, Any]]


def avro_rows(text: str) -> AvroRows:
    """:raises ConfigurationError: the schema is not a record, or contains itself."""
    schema = parse_avro(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ConfigurationError("the Avro schema of rows must be a record", detail=text[:500])
    shape = _Shapes().shape(schema)
    assert shape.read is not None
    assert shape.write is not None
    return AvroRows(row_wire(text), shape.type_info, shape.read, shape.write)


def row_wire(text: str) -> Any:
    """Return a schema with the logical types of the values of rows."""
    return extra("fastavro", "Avro", "avro").parse_schema(_with_row_types(parse_avro(text)))


def _with_row_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_row_types(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: value for key, value in schema.items() if not key.startswith("__fastavro")}
    if "logicalType" in schema:
        kind, logical = schema["type"], changed.pop("logicalType")
        if isinstance(kind, str) and (kind, logical) in _LOGICAL:
            changed["logicalType"] = _LOGICAL[kind, logical][0]
    for key in ("type", "items", "values"):
        if isinstance(schema.get(key), (dict, list)):
            changed[key] = _with_row_types(schema[key])
    if "fields" in schema:
        changed["fields"] = [{**field, "type": _with_row_types(field["type"])} for field in schema["fields"]]
    return changed


@dataclass(frozen=True, slots=True)
class _Shape:
    type_info: TypeInformation
    read: Convert = None
    write: Convert = None


class _Shapes:
    """Builds the shapes of one schema; ``_named`` holds the named types met so far, by full name."""

    def __init__(self) -> None:
        self._named: dict[str, _Shape | None] = {}  # None: the type is being built

    def shape(self, schema: Any) -> _Shape:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            write = _checked_int if schema == "int" else None  # the library writes any 64-bit number
            return _Shape(_TYPES[schema](), None, write) if schema in _TYPES else self._known(schema)
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.shape(kind)
        if kind in ("array", "map"):
            return self._collection(kind, self.shape(schema["items" if kind == "array" else "values"]))
        if kind == "record":
            self._named[schema["name"]] = None
        shape = self._record(schema) if kind == "record" else self._plain(schema, kind)
        if "name" in schema:
            self._named[schema["name"]] = shape
        return shape

    def _plain(self, schema: dict[str, Any], kind: str) -> _Shape:
        known = _LOGICAL.get((kind, schema.get("logicalType", "")))
        if known is not None:
            return _Shape(known[1]())
        return self.shape(kind)

    def _known(self, name: str) -> _Shape:
        shape = self._named.get(name)
        if shape is None:
            raise ConfigurationError(
                f"the Avro record {name} contains itself: such records have no row type",
                hint="read them as generic records, AvroDeserializationSchema.for_generic()",
            )
        return shape

    def _record(self, schema: dict[str, Any]) -> _Shape:
        names = [field["name"] for field in schema["fields"]]
        shapes = [self.shape(field["type"]) for field in schema["fields"]]
        reads = [(i, s.read) for i, s in enumerate(shapes) if s.read is not None]
        writes = [(i, s.write) for i, s in enumerate(shapes) if s.write is not None]
        values_of = _values_of(names)

        def read(datum: dict[str, Any]) -> Row:  # hot
            values = values_of(datum)
            for i, convert in reads:
                values[i] = convert(values[i])
            return _make_row(values, names)

        def write(row: Iterable[Any]) -> dict[str, Any]:  # hot
            datum = dict(zip(names, row, strict=True))
            for i, convert in writes:
                datum[names[i]] = convert(datum[names[i]])
            return datum

        type_info = Types.ROW_NAMED(names, [shape.type_info for shape in shapes])
        return _Shape(type_info, read, write)

    def _collection(self, kind: str, item: _Shape) -> _Shape:
        if kind == "array":
            return _Shape(Types.OBJECT_ARRAY(item.type_info), each(item.read), each(item.write))
        type_info = Types.MAP(Types.STRING(), item.type_info)
        return _Shape(type_info, each_value(item.read), each_value(item.write))

    def _union(self, branches: list[Any]) -> _Shape:
        """A nullable value has the type of the other branch. Any other union has no type, and its records are
        dicts."""
        others = [branch for branch in branches if branch != "null"]
        if len(others) != 1:
            for branch in others:
                self.shape(branch)  # it may define a named type that is used again
            return _Shape(Types.PICKLED_BYTE_ARRAY(), None, _row_as_dict)
        shape = self.shape(others[0])
        return _Shape(shape.type_info, unless_none(shape.read), unless_none(shape.write))


def _values_of(names: list[str]) -> Callable[[dict[str, Any]], list[Any]]:
    if len(names) < 2:
        return lambda datum: [datum[name] for name in names]
    take = itemgetter(*names)
    return lambda datum: list(take(datum))


def each(convert: Convert) -> Convert:
    return None if convert is None else lambda items: [convert(item) for item in items]


def each_value(convert: Convert) -> Convert:
    return None if convert is None else lambda items: {key: convert(item) for key, item in items.items()}


def unless_none(convert: Convert) -> Convert:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _checked_int(value: int) -> int:
    if not -(2**31) <= value < 2**31:
        raise OverflowError(f"{value} is not an int of 32 bits")
    return value


def _row_as_dict(value: Any) -> Any:
    return value.as_dict(True) if isinstance(value, Row) else value
