"""From columns to actions of the bulk API (Flink: ``RowElasticsearchEmitter``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa

from firesteel.common.columns import DELETE, UPDATE_BEFORE, Columns
from firesteel.connectors.elasticsearch.emitter import ON_CONFLICT
from firesteel.sql import types as t
from firesteel.sql.cast import cast_column
from firesteel.sql.connectors.elasticsearch.index_names import IndexNames
from firesteel.sql.connectors.formats.registry import MessageFormat

__all__ = ["NOT_IN_IDS", "TableDocuments"]

_encode: Final = msgspec.json.Encoder().encode
_TEXT: Final = t.VarCharType(length=t.MAX_LENGTH)
#: Types that an id cannot have a part of.
NOT_IN_IDS: Final = (
    t.BinaryType,
    t.VarBinaryType,
    t.ArrayType,
    t.MapType,
    t.MultisetType,
    t.RowType,
    t.RawType,
    t.VariantType,
    t.BitmapType,
)


@dataclass(frozen=True, slots=True)
class TableDocuments:
    """Rows of a table as documents: added, or by primary key replaced in their fields and deleted.

    :param keys: places of the columns of the primary key; none: the cluster chooses ids.
    :param doc_type: the type of the documents, for clusters that have types.
    """

    names: IndexNames
    format: MessageFormat
    row: t.RowType
    keys: tuple[int, ...] = ()
    delimiter: str = "_"
    doc_type: str | None = None

    @property
    def description(self) -> str:
        return f"Elasticsearch {'*'.join(self.names.parts) if self.names.dynamic else self.names.parts[0]}"

    @property
    def by_key(self) -> bool:
        return bool(self.keys)

    def encoder(self) -> Callable[[Any], list[bytes]]:
        """Return the function from columns to actions."""
        write = self.format.message_writer(self.row)
        heads: dict[str, bytes] = {}
        of_type = b"" if self.doc_type is None else b',"_type":' + _encode(self.doc_type)

        def head(index: str) -> bytes:
            heads[index] = b'"_index":%b%b' % (_encode(index), of_type)
            return heads[index]

        def encode(columns: Columns) -> list[bytes]:  # hot
            bodies, actions = write(columns.with_kinds(None)), []
            where = [heads.get(index) or head(index) for index in self.names.of(columns)]
            if not self.keys:
                pairs = zip(where, bodies, strict=True)
                return [b'{"index":{%b}}\n%b\n' % (place, body or b"") for place, body in pairs]
            rows = zip(columns.kinds_or_inserts().tolist(), where, self._ids(columns), bodies, strict=True)
            for kind, place, id_, body in rows:
                if kind in (DELETE, UPDATE_BEFORE):
                    actions.append(b'{"delete":{%b,"_id":%b}}\n' % (place, id_))
                else:
                    action = b'{"update":{%b,"_id":%b%b}}\n{"doc":%b,"doc_as_upsert":true}\n'
                    actions.append(action % (place, id_, ON_CONFLICT, body or b""))
            return actions

        return encode

    def _ids(self, columns: Columns) -> list[bytes]:
        parts = [_texts(columns.arrays[k], self.row.types[k]) for k in self.keys]
        return [_encode(self.delimiter.join(found)) for found in zip(*parts, strict=True)]


def _texts(array: pa.Array, data_type: t.DataType) -> Sequence[str]:
    """Return the texts of values as Java has them: those of SQL, but for times."""
    texts: list[str] = cast_column(array, data_type, _TEXT, "UTC").to_pylist()
    match data_type:
        case t.BooleanType():
            return [text.lower() for text in texts]
        case t.TimeType():
            return [_time(text) for text in texts]
        case t.TimestampType() | t.LocalZonedTimestampType():
            return ["T".join((text[:10], _time(text[11:]))) for text in texts]
    return texts


def _time(text: str) -> str:
    """``HH:mm``, with seconds and 3, 6 or 9 digits of their fraction only where they are not zero."""
    clock, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if fraction:
        return f"{clock}.{fraction.ljust(-(-len(fraction) // 3) * 3, '0')}"
    return clock.removesuffix(":00") if clock.count(":") == 2 else clock
