"""Converts records to actions of the bulk API (Flink: ``MapElasticsearchEmitter``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from firesteel.common.errors import ConfigurationError, ProgramError, TypeMismatchError
from firesteel.common.typeinfo import MapTypeInfo, PickledBytesTypeInfo, TypeInformation
from firesteel.formats.text import encodable

_encode: Final = msgspec.json.Encoder(decimal_format="number").encode
_FORBIDDEN: Final = set('\\/*?"<>| ,#:')
# Two attempts of a task may write a document at once; the later write wins.
ON_CONFLICT: Final = b',"retry_on_conflict":3'


@dataclass(frozen=True, slots=True)
class MapEmitter:
    """Writes each record, a dict, to an index: as a new document, or to the document with its key.

    :param index: the index or, if ``dynamic``, the field that names it.
    :param key_field: the field with the id. The document with this id is updated with the fields of the
        record, or created. None: the cluster chooses an id.
    :param doc_type: the type of the documents, for clusters that have types.
    """

    index: str
    key_field: str | None = None
    doc_type: str | None = None
    dynamic: bool = False

    def __post_init__(self) -> None:
        if not self.dynamic and not self.index.startswith("<"):  # date math
            check_index(self.index)

    @property
    def description(self) -> str:
        return f"Elasticsearch {'by ' if self.dynamic else ''}{self.index}"

    @property
    def by_key(self) -> bool:
        return self.key_field is not None

    def check_type(self, type_info: TypeInformation | None) -> None:
        """Check that a stream of this declared type can be written.

        :raises ProgramError: it cannot.
        """
        if type_info is not None and not isinstance(type_info, (MapTypeInfo, PickledBytesTypeInfo)):
            raise ProgramError(
                "An Elasticsearch sink writes dicts.",
                detail=f"the type of the stream is {type_info}",
                hint="map the records to dicts, output_type=Types.MAP(Types.STRING(), ...)",
            )

    def encoder(self) -> Callable[[Sequence[Any]], list[bytes]]:
        """Return the function that converts records to actions."""
        kind = b"index" if self.key_field is None else b"update"
        heads: dict[str, bytes] = {}

        def head(index: str) -> bytes:
            doc_type = b"" if self.doc_type is None else b',"_type":' + _encode(self.doc_type)
            heads[index] = b'{"%b":{"_index":%b%b' % (kind, _encode(index), doc_type)
            return heads[index]

        def encode(records: Sequence[Any]) -> list[bytes]:  # hot
            index_of, key_field, actions = self.index, self.key_field, []
            for record in records:
                index = _text(record, index_of, "index") if self.dynamic else index_of
                begin = heads.get(index) or head(index)
                if key_field is None:
                    actions.append(b"%b}}\n%b\n" % (begin, _document(record)))
                else:
                    key = _encode(_text(record, key_field, "id"))
                    action = b'%b,"_id":%b%b}}\n{"doc":%b,"doc_as_upsert":true}\n'
                    actions.append(action % (begin, key, ON_CONFLICT, _document(record)))
            return actions

        return encode


def check_index(index: str) -> None:
    """:raises ConfigurationError: no cluster accepts this as the name of an index."""
    bad = sorted(_FORBIDDEN & set(index))
    if (
        bad
        or index != index.lower()
        or index[0] in "-_+"
        or index in (".", "..")
        or len(index.encode()) > 255
    ):
        raise ConfigurationError(
            f"Not the name of an index: {index!r:.300}.",
            hint='lower case, none of \\ / * ? " < > | , # : and blank, no - _ + at its begin',
        )


def _text(record: Any, field: str, what: str) -> str:
    """Return the value of a field as Java formats it."""
    try:
        value = record[field]
    except (TypeError, LookupError):
        value = None
    if value is None:
        raise _unfit(
            record, f"A record for Elasticsearch has no {what}: the field {field!r} is not there, or is None."
        )
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _document(record: Any) -> bytes:
    if not isinstance(record, dict):
        raise _unfit(record, "An Elasticsearch sink writes dicts, and this is none.")
    try:
        try:
            document = _encode(record)
        except UnicodeEncodeError:
            document = _encode(encodable(record))
    except (TypeError, ValueError, OverflowError) as error:
        raise _unfit(record, f"A record cannot be written as JSON: {error}") from error
    if b"null" in document and not _finite(record):
        raise _unfit(record, "A record holds NaN or an infinite number, and JSON has none.")
    return document


def _finite(value: Any) -> bool:
    """Return true if no null in the JSON of ``value`` stands for a number."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return not isinstance(value, (list, tuple, set, frozenset)) or all(map(_finite, value))


def _unfit(record: Any, message: str) -> TypeMismatchError:
    return TypeMismatchError(
        message, detail=f"the record: {record!r:.300}", hint="filter or mend it before the sink"
    )
