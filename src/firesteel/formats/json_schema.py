"""Converts JSON schemas to declared types (Flink: ``JsonRowSchemaConverter``)."""

from __future__ import annotations

import json
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import TypeInformation, Types

_FORMATS: Final = {
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
    "date-time": Types.SQL_TIMESTAMP,
}


def type_of_json_schema(text: str) -> TypeInformation:
    """Return the type of the messages that a JSON schema describes.

    :raises ConfigurationError: the schema is not JSON, or has no type, such as a union of several types.
    """
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise ConfigurationError("the JSON schema is not valid JSON", detail=str(error)) from error
    return _convert(schema, schema, "the schema")


def _convert(schema: Any, root: Any, where: str) -> TypeInformation:
    if not isinstance(schema, dict):
        raise ConfigurationError(f"not a JSON schema: {where}", detail=repr(schema))
    if "$ref" in schema:
        return _convert(_resolve(schema["$ref"], root, where), root, where)
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else [k for k in kinds or () if k != "null"]
    if len(kinds) != 1:
        raise ConfigurationError(f"{where} does not have one type", detail=f"type: {schema.get('type')!r}")
    match kinds[0]:
        case "object":
            fields = schema.get("properties", {})
            types = [_convert(field, root, f"{where}.{name}") for name, field in fields.items()]
            return Types.ROW_NAMED(list(fields), types)
        case "array":
            items = schema.get("items")
            if isinstance(items, list):
                return Types.ROW([_convert(item, root, f"{where}[{i}]") for i, item in enumerate(items)])
            return Types.OBJECT_ARRAY(_convert(items, root, f"{where}[]"))
        case "string":
            if schema.get("contentEncoding") == "base64":
                return Types.PRIMITIVE_ARRAY(Types.BYTE())
            return _FORMATS.get(schema.get("format", ""), Types.STRING)()
        case "number":
            return Types.BIG_DEC()
        case "integer":
            return Types.BIG_INT()
        case "boolean":
            return Types.BOOLEAN()
    raise ConfigurationError(f"{where} has an unknown type: {kinds[0]!r}")


def _resolve(reference: str, root: Any, where: str) -> Any:
    if not reference.startswith("#/"):
        raise ConfigurationError(f"{where} refers to another document: {reference}")
    node = root
    for part in reference[2:].split("/"):
        if not isinstance(node, dict) or part not in node:
            raise ConfigurationError(f"{where} refers to what is not there: {reference}")
        node = node[part]
    return node
