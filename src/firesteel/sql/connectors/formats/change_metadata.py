"""What messages of changes say beside their rows: metadata columns ``value.*``.

Flink: ``ReadableMetadata`` of each format.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec
import pyarrow as pa

from firesteel.formats.json_rows import JsonParseError
from firesteel.sql import types as t
from firesteel.sql.cast import cast_column
from firesteel.sql.values import array_of

__all__ = ["CHANGE_METADATA", "FormatColumn", "FormatMetadata", "roots_of"]

_TEXT: Final = t.VarCharType(length=t.MAX_LENGTH)
_TEXTS: Final = t.ArrayType(element_type=_TEXT)
_MAP: Final = t.MapType(key_type=_TEXT, value_type=_TEXT)
_INTS: Final = t.MapType(key_type=_TEXT, value_type=t.IntType())
_MILLIS: Final = t.LocalZonedTimestampType(precision=3)
_MICROS: Final = t.LocalZonedTimestampType(precision=6)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _micros(value: str) -> int:
    found = datetime.datetime.fromisoformat(value)
    return ((found if found.tzinfo else found.replace(tzinfo=datetime.UTC)) - _EPOCH) // _MICROSECOND


def _pairs(value: dict[str, Any]) -> list[tuple[str, Any]]:
    return list(dict(value).items())


def _text_pairs(value: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(key, None if part is None else _text(part)) for key, part in _pairs(value)]


_CONVERT: Final[dict[t.DataType, Callable[[Any], Any]]] = {
    _TEXT: _text,
    _TEXTS: lambda value: [_text(part) for part in value],
    _MAP: _text_pairs,
    _INTS: _pairs,
    _MILLIS: int,
    _MICROS: _micros,
}


@dataclass(frozen=True, slots=True)
class FormatMetadata:
    """:param path: the names that lead to it in a message."""

    data_type: t.DataType
    path: tuple[str, ...]

    def value(self, root: Any) -> Any:
        for name in self.path:
            root = root.get(name) if isinstance(root, dict) else None
        try:
            return None if root is None else _CONVERT[self.data_type](root)
        except (TypeError, ValueError) as error:
            raise JsonParseError(
                f"{'.'.join(self.path)!r} of a message is not {self.data_type}",
                detail=f"{root!r:.300}: {error}",
            ) from error


@dataclass(frozen=True, slots=True)
class FormatColumn:
    """A wanted column. :param data_type: as declared. :param zone: of the session."""

    metadata: FormatMetadata
    data_type: t.DataType
    zone: str

    def read(self, roots: Sequence[Any]) -> pa.Array:
        """Return the value of each message."""
        found = self.metadata.data_type
        array = array_of([self.metadata.value(root) for root in roots], found)
        return cast_column(array, found, self.data_type, self.zone)


def roots_of(messages: Sequence[bytes | None]) -> list[Any]:
    """Return what is in each message; None in one that is no JSON, which the reader of its rows reports."""
    return [_root(message) for message in messages]


def _root(message: bytes | None) -> Any:
    try:
        return None if message is None else msgspec.json.decode(message)
    except msgspec.DecodeError:
        return None


def _debezium(*above: str) -> dict[str, FormatMetadata]:
    source = (*above, "source")
    return {
        "schema": FormatMetadata(_TEXT, ("schema",)),
        "ingestion-timestamp": FormatMetadata(_MILLIS, (*above, "ts_ms")),
        "source.timestamp": FormatMetadata(_MILLIS, (*source, "ts_ms")),
        "source.database": FormatMetadata(_TEXT, (*source, "db")),
        "source.schema": FormatMetadata(_TEXT, (*source, "schema")),
        "source.table": FormatMetadata(_TEXT, (*source, "table")),
        "source.properties": FormatMetadata(_MAP, source),
    }


#: Format, and whether its messages have their schema -> key -> metadata.
CHANGE_METADATA: Final = MappingProxyType(
    {
        ("debezium", False): _debezium(),
        ("debezium", True): _debezium("payload"),
        ("canal", False): {
            "database": FormatMetadata(_TEXT, ("database",)),
            "table": FormatMetadata(_TEXT, ("table",)),
            "sql-type": FormatMetadata(_INTS, ("sqlType",)),
            "pk-names": FormatMetadata(_TEXTS, ("pkNames",)),
            "ingestion-timestamp": FormatMetadata(_MILLIS, ("ts",)),
            "event-timestamp": FormatMetadata(_MILLIS, ("es",)),
        },
        ("maxwell", False): {
            "database": FormatMetadata(_TEXT, ("database",)),
            "table": FormatMetadata(_TEXT, ("table",)),
            "primary-key-columns": FormatMetadata(_TEXTS, ("primary_key_columns",)),
            "ingestion-timestamp": FormatMetadata(_MILLIS, ("ts",)),
        },
        ("ogg", False): {
            "table": FormatMetadata(_TEXT, ("table",)),
            "primary-keys": FormatMetadata(_TEXTS, ("primary_keys",)),
            "ingestion-timestamp": FormatMetadata(_MICROS, ("current_ts",)),
            "event-timestamp": FormatMetadata(_MICROS, ("op_ts",)),
        },
    }
)
