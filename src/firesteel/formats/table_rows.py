"""Rows of in-memory tables: a pandas or Polars DataFrame, an Arrow table or record batch."""

from __future__ import annotations

import sys
from typing import Any

from firesteel.formats.arrow_values import make_row, records


def is_table(collection: object) -> bool:
    """Return true if a collection is a table. Iterating over a table would give columns or their names."""
    kind = type(collection)
    return hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "columns")


def rows_of_table(table: Any) -> list[Any]:
    """Return the rows of a table as ``Row`` with the names of its columns.

    Values are as a columnar file source reads them: a missing value (including pandas' NaN) is None, a
    timestamp is a ``datetime``. The index of a pandas DataFrame is dropped, as in PyFlink's ``from_pandas``.
    """
    import pyarrow as pa

    pandas = sys.modules.get("pandas")  # imported already if the table is a DataFrame
    if pandas is not None and isinstance(table, pandas.DataFrame):
        arrow = pa.Table.from_pandas(table, preserve_index=False)
    else:
        arrow = pa.table(table)
    return records(arrow, arrow.column_names, None, make_row)
