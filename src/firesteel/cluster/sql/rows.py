"""The rows of a statement as the gateway answers them: JSON, or texts as a client shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.errors import ProgramError
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.json import JsonTableFormat, json_cells
from firesteel.sql.row_texts import KIND_NAMES
from firesteel.sql.type_json import type_to_json
from firesteel.table._printing import texts
from firesteel.table.table_result import TableResult

__all__ = ["FORMATS", "StatementRows"]

FORMATS: Final = ("JSON", "PLAIN_TEXT")
_FORMAT: Final = JsonTableFormat(times="ISO-8601")


class StatementRows:
    """Implements ``Rows``.

    :param given: rows that take the place of those of the result.
    """

    def __init__(self, result: TableResult, given: tuple[t.RowType, Columns] | None = None) -> None:
        self._result = result
        self._given = given
        client = result.get_job_client()
        self.job_id = None if client is None else str(client.get_job_id())
        self._row = result._row if given is None else given[0]
        self.head: dict[str, Any] = {
            "is_query": given is None and client is not None,
            "job_id": self.job_id,
            "kind": result.get_result_kind().name,
            "columns": [
                {"name": f.name, "logicalType": type_to_json(f.data_type), "comment": None}
                for f in self._row.fields
            ],
        }

    def parts(self) -> Iterator[Columns]:
        return self._result._parts if self._given is None else iter([self._given[1]])

    def close(self) -> None:
        if self.head["is_query"]:
            self._result.collect().close()

    def data(self, parts: Sequence[Columns], row_format: str) -> bytes:
        """The rows as JSON: a list of objects with ``kind`` and ``fields``.

        :raises ProgramError: there is no such format.
        """
        if row_format not in FORMATS:
            raise ProgramError(f"The row format {row_format} is unknown.", hint=" or ".join(FORMATS))
        rows = (row for part in parts for row in self._encoded(part, row_format == "JSON"))
        return b"[" + b",".join(rows) + b"]"

    def _encoded(self, part: Columns, as_json: bool) -> Iterator[bytes]:
        fields = self._json(part) if as_json else self._texts(part)
        for kind, row in zip(part.kinds_or_inserts().tolist(), fields, strict=True):
            yield b'{"kind":"%s","fields":[%s]}' % (KIND_NAMES[kind].encode(), ",".join(row).encode())

    def _json(self, part: Columns) -> Iterator[Sequence[str]]:
        columns = [
            _texts_of(cells, array, f.data_type)
            for cells, array, f in zip(
                json_cells(_FORMAT, self._row), part.arrays, self._row.fields, strict=True
            )
        ]
        return iter(zip(*columns, strict=True)) if columns else iter([()] * len(part))

    def _texts(self, part: Columns) -> Iterator[Sequence[str]]:
        for row in texts(part, self._row, self._result._zone):
            yield [msgspec.json.encode(field).decode() for field in row]


def _texts_of(cells: Any, array: pa.Array, data_type: t.DataType) -> list[str]:
    if isinstance(data_type, t.YearMonthIntervalType | t.DayTimeIntervalType):
        found = array.cast(pa.string())
    else:
        found = cells(array)
    return [text if text is not None else "null" for text in found.to_pylist()]
