"""The rows of a table in memory: a pandas or Polars DataFrame, an Arrow table or record batch."""

from __future__ import annotations

import sys
from typing import Any

from firesteel.formats.arrow_values import make_row, records


def is_table(collection: object) -> bool:
    """Whether a collection is a table; iterating over one gives its columns or their names."""
    kind = type(collection)
    return hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "columns")


def rows_of_table(table: Any) -> list[Any]:
    """The rows of a table as ``Row`` with the names of its columns.

    Values are those that a columnar file source reads: a missing value (NaN of pandas too) is None, a
    timestamp a ``datetime``. The index of a pandas DataFrame is left out, as PyFlink's ``from_pandas`` does.
    """
    import pyarrow as pa

    pandas = sys.modules.get("pandas")  # imported by whoever made a DataFrame of it
    if pandas is not None and isinstance(table, pandas.DataFrame):
        arrow = pa.Table.from_pandas(table, preserve_index=False)
    else:
        arrow = pa.table(table)
    return records(arrow, arrow.column_names, None, make_row)
