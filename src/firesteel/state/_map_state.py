"""MapState: each entry of a map is an entry of the state (``_cells``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from firesteel.common._composite_types import MapTypeInfo
from firesteel.program.state.descriptors import MapStateDescriptor
from firesteel.program.state.kinds import MapState
from firesteel.state._cell_reader import Reader
from firesteel.state._cells import Cell, CellColumn
from firesteel.state._column import CanonicalKey, canonical_of, typed_bytes
from firesteel.state._declared import ANY_KEY, ANY_VALUE, DeclaredKey, DeclaredValue
from firesteel.state._recoding import recoding_but_none
from firesteel.state._value_codec import NONE_VALUE, TOMBSTONE, decode_value, is_atom, is_none
from firesteel.state.keys import decode_key, raw_key
from firesteel.state.kinds import KINDS, Handles, StateKind
from firesteel.state.rows import Entry, rows_by_key

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.state._core import StateCore
    from firesteel.state._operator import OperatorState
    from firesteel.state._ttl import Ttl


class MapColumn(CellColumn[Cell], MapState[Any, Any]):
    kind = "map"

    _rest_of = staticmethod(typed_bytes)
    _name_of = staticmethod(canonical_of)
    _make_cell = Cell

    def __init__(
        self,
        core: StateCore,
        operator: OperatorState,
        name: str,
        ttl: Ttl | None = None,
        declared: tuple[DeclaredKey, DeclaredValue] = (ANY_KEY, ANY_VALUE),
    ) -> None:
        super().__init__(core, operator, name, ttl)
        (self._plain_keys, self._canonical), (self._plain, self._to_cached, self._encode) = declared

    # ---- the user's side

    def get(self, key: Any) -> Any:  # hot
        name = key if type(key) in self._plain_keys else self._canonical(key)
        cached = self._lookup(name)
        if type(cached) is not bytes:
            return cached
        value = decode_value(cached)
        if self.ttl is None and value is not None and is_atom(value):
            self._cells[self._operator.key].data[name] = value
        return value

    def contains(self, key: Any) -> bool:
        cached = self._lookup(self._canonical(key))
        return not is_none(cached)

    def put(self, key: Any, value: Any) -> None:  # hot
        current = self._operator.key
        cell = self._cells.get(current)
        if cell is None:
            cell = self._new_cell(current)
        name = key if type(key) in self._plain_keys else self._canonical(key)
        data = cell.data
        if cell.ordered:
            if cell.lent >= 0:
                data = cell.own(self._core.epoch)
            if name not in data:
                cell.ordered = False
        if self.ttl is not None:
            data[name] = self._core.ttl_stamp + (NONE_VALUE if value is None else self._encode(value))
        elif type(value) in self._plain:
            data[name] = value
        else:
            data[name] = NONE_VALUE if value is None else self._to_cached(value)
        cell.dirty.add(name)
        self._dirty[current] = cell

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        # PyFlink's workers take a dict or, by a slip, only its items: both work here.
        for key, value in dict_value.items() if isinstance(dict_value, Mapping) else dict_value:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self.remove_part(self._operator.key, self._canonical(key))

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self._iterate(_item_of)

    def keys(self) -> Iterator[Any]:
        return self._iterate(_key_of)

    def values(self) -> Iterator[Any]:
        return self._iterate(_value_of)

    def is_empty(self) -> bool:
        return not self._has_any(self._operator.key)

    # ---- the backend's side

    def has_content(self) -> bool:
        return not self.is_empty()

    # ---- how

    def _iterate(self, make: Callable[[CanonicalKey, Any], Any]) -> Iterator[Any]:
        current = self._operator.key
        return Reader(self, current, self._parts(current), make, self._core.epoch)

    def _lookup(self, name: CanonicalKey) -> Any:
        """What is cached for a map key (with a time to live: the value's bytes), None when there is none."""
        current = self._operator.key
        cell = self._cells.get(current)
        if cell is None:
            if self._core.complete:
                return None
            cell = self._new_cell(current)
        cached = cell.data.get(name)
        if cached is None:
            cached = None if cell.complete else self._fetch(current, cell, name)
            if cached is None:
                return None
        if type(cached) is bytes:
            if cached == TOMBSTONE:
                return None
            if self.ttl is not None:
                return self.live(current, name, cached, self.ttl)
        return cached

    def _fetch(self, current: CanonicalKey, cell: Cell, name: CanonicalKey) -> bytes | None:
        stored = self._core.fetch(current, self.id + typed_bytes(name))
        if not cell.complete:  # it may be since: many misses complete the cache
            cell.data[name] = TOMBSTONE if stored is None else stored
            cell.ordered = False
            self._count(cell)
        return stored


def _item_of(name: CanonicalKey, cached: Any) -> tuple[Any, Any]:  # hot
    return (
        decode_key(name) if type(name) is bytes else name,
        decode_value(cached) if type(cached) is bytes else cached,
    )


def _key_of(name: CanonicalKey, cached: Any) -> Any:
    return decode_key(name) if type(name) is bytes else name


def _value_of(name: CanonicalKey, cached: Any) -> Any:
    return decode_value(cached) if type(cached) is bytes else cached


# ---- the kind


def map_column(operator: OperatorState, name: str, descriptor: Any, ttl: Ttl | None) -> MapColumn:
    """A new column with a map for each key, of the descriptor's MAP."""
    return MapColumn(operator.core, operator, name, ttl, operator.declared.map(descriptor.type_info, name))


def map_value_type(type_info: TypeInformation) -> TypeInformation | None:
    """That of the values of a declared MAP."""
    return type_info._value_type_info if isinstance(type_info, MapTypeInfo) else type_info


def _row_type(declared: TypeInformation | None, value: TypeInformation) -> TypeInformation | None:
    return MapTypeInfo(declared._key_type_info, value) if isinstance(declared, MapTypeInfo) else None


def _dict_of(parts: list[Entry]) -> dict[Any, Any]:
    return {raw_key(canonical_of(name)): decode_value(value) for name, value in parts}


def _put(column: MapColumn, entries: Any) -> bool:
    taken = not column.is_empty()
    column.put_all(entries)
    return taken


MAP: Final = KINDS.register(
    StateKind(
        name=MapColumn.kind,
        rows=rows_by_key(_dict_of),
        part=map_value_type,
        row_type=_row_type,
        recoding=recoding_but_none,
        handles=Handles(
            descriptor=MapStateDescriptor,
            column=map_column,
            content=lambda handle: dict(handle.items()),
            is_collection=True,
            put=_put,
            expires=True,
        ),
    )
)
