"""Converts records of a declared type to Arrow record batches."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from firesteel.common._map_all import map_all
from firesteel.common.errors import TypeMismatchError
from firesteel.common.typeinfo import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.formats.arrow_values import to_arrow_converter
from firesteel.formats.text import encodable
from firesteel.formats.types_to_arrow import Path, to_arrow_schema, with_instants, with_required

#: What values raise that do not fit.
_MISFITS = (OverflowError, TypeError, ValueError, AttributeError, ArithmeticError)


class BatchBuilder:
    """Builds batches whose columns are the fields of a row or tuple, or a single column ``value``.

    :param zone: timestamps are local times in this zone and become instants; None: they stay local.
    :param required: fields that are never None, as paths from the row.
    """

    def __init__(
        self, type_info: TypeInformation, zone: str | None = None, required: Collection[Path] = ()
    ) -> None:
        while isinstance(type_info, ExternalTypeInfo):
            type_info = type_info._type_info
        self.schema = with_required(to_arrow_schema(type_info), required)
        local = None
        if zone is not None:
            self.schema = with_instants(self.schema)
            local = zoneinfo.ZoneInfo(zone)
        self._is_record = isinstance(type_info, (RowTypeInfo, TupleTypeInfo))
        self._types = [type_info]
        if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
            self._types = type_info.get_field_types()
        self._converters = [to_arrow_converter(type_, local) for type_ in self._types]

    def batch(self, records: Sequence[Any]) -> Any:
        """Return a ``pyarrow.RecordBatch``.

        :raises TypeMismatchError: a value does not fit its column.
        """
        import pyarrow as pa

        arrays = [self._array(*column) for column in self._columns(records)]
        return pa.record_batch(arrays, schema=self.schema)

    def _columns(self, records: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        columns: Sequence[Sequence[Any]] = self._split(records) if self._is_record else [records]
        return zip(self._types, self._converters, columns, self.schema, strict=True)

    def _split(self, records: Sequence[Any]) -> list[tuple[Any, ...]]:
        width = len(self._types)
        try:
            columns = list(zip(*records, strict=True))
        except (TypeError, ValueError):
            columns = []
        if records and len(columns) != width:
            bad = next((r for r in records if not hasattr(r, "__len__") or len(r) != width), records[0])
            raise TypeMismatchError(
                f"a record does not have the {width} fields of its type", detail=f"got {bad!r:.200}"
            )
        return columns or [()] * width

    @staticmethod
    def _array(type_: TypeInformation, convert: Any, values: Sequence[Any], column: Any) -> Any:
        import pyarrow as pa

        try:
            items = values if convert is None else [None if v is None else convert(v) for v in values]
            try:
                return pa.array(items, column.type)
            except UnicodeEncodeError:
                return pa.array(encodable(items), column.type)
        except (*_MISFITS, pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TypeMismatchError(
                f"a value of column {column.name!r} does not fit its declared type {type_}",
                detail=str(error),
            ) from error


class DictBatchBuilder:
    """Builds batches from dicts, with the columns of a ``pyarrow.Schema``.

    :param convert: converts a record to such a dict; None: records are such dicts.
    """

    def __init__(self, schema: Any, convert: Callable[[Any], Any] | None = None) -> None:
        self.schema = schema
        self._convert = convert

    def batch(self, records: Sequence[Any]) -> Any:
        """Return a ``pyarrow.RecordBatch``.

        :raises TypeMismatchError: a record does not fit.
        """
        import pyarrow as pa

        try:
            rows = list(records) if self._convert is None else map_all(self._convert, records)
            try:
                batch = pa.RecordBatch.from_pylist(rows, self.schema)
            except UnicodeEncodeError:
                batch = pa.RecordBatch.from_pylist(encodable(rows), self.schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, AttributeError) as error:
            raise TypeMismatchError(
                "a record does not fit the schema of its file", detail=str(error)
            ) from error
        return batch
