"""What a kind of state of another package is made of: columns that keep state, and what its record needs.

A *column* is one state of one operator (``Column``): its cache, its changes, and how its entries are read and
written. ``value_column``, ``list_column`` and ``map_column`` make those of Firesteel's own kinds, for kinds
that are a handle on one of them.
"""

from __future__ import annotations

from firesteel.state._column import (
    CanonicalKey,
    Column,
    canonical_of,
    in_order,
    key_data,
    key_end,
    typed_bytes,
)
from firesteel.state._list_state import ListColumn, list_column
from firesteel.state._map_state import MapColumn, map_column
from firesteel.state._recoding import recoding, recoding_but_none
from firesteel.state._value_codec import TOMBSTONE, decode_elements, decode_value, encode_elements, to_cached
from firesteel.state._value_state import ValueColumn, value_column
from firesteel.state.rows import rows_by_key, rows_by_key_in_group, single

__all__ = [
    "TOMBSTONE",
    "CanonicalKey",
    "Column",
    "ListColumn",
    "MapColumn",
    "ValueColumn",
    "canonical_of",
    "decode_elements",
    "decode_value",
    "encode_elements",
    "in_order",
    "key_data",
    "key_end",
    "list_column",
    "map_column",
    "recoding",
    "recoding_but_none",
    "rows_by_key",
    "rows_by_key_in_group",
    "single",
    "to_cached",
    "typed_bytes",
    "value_column",
]
