"""ListState: adding costs the same whatever the length, because an epoch's elements are parts of their own.

The elements that one epoch adds to a key are stored as *chunks* under a rising 8-byte number: the number of
the epoch on the line, then one of the chunk. No stored element is read to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from firesteel.common._composite_types import ListTypeInfo
from firesteel.program.state.descriptors import ListStateDescriptor
from firesteel.program.state.kinds import ListState
from firesteel.state._cell_reader import Reader
from firesteel.state._cells import Cell, CellColumn, Parts
from firesteel.state._column import CanonicalKey, in_order
from firesteel.state._declared import ANY_VALUE, DeclaredValue
from firesteel.state._value_codec import (
    TOMBSTONE,
    decode_elements,
    decode_value,
    encode_elements,
    to_cached,
)
from firesteel.state.kinds import KINDS, Handles, StateKind
from firesteel.state.rows import Entry, rows_by_key

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.state._core import StateCore
    from firesteel.state._operator import OperatorState
    from firesteel.state._ttl import Ttl

CHUNK_ELEMENTS: Final = 1024
CHUNK_BITS: Final = 24
_FEW_CHUNKS: Final = 4


def decode_chunk(data: bytes) -> list[Any]:
    return _decoded(decode_elements(data))


def _decoded(elements: list[Any]) -> list[Any]:
    return [decode_value(e) if type(e) is bytes else e for e in elements]


class ListCell(Cell):
    """The parts are chunks, by number; ``tail`` has what was added in this epoch, as it is cached.

    :ivar stamp: when that was, where elements expire.
    :ivar last: the number of the chunk that was added last.
    """

    __slots__ = ("last", "stamp", "tail")

    def __init__(self, complete: bool) -> None:
        super().__init__(complete)
        self.tail: list[Any] = []
        self.stamp = b""
        self.last = -1


class ListColumn(CellColumn[ListCell], ListState[Any]):
    kind = "list"
    _keeps_parts = False

    _make_cell = ListCell

    def __init__(
        self,
        core: StateCore,
        operator: OperatorState,
        name: str,
        ttl: Ttl | None = None,
        declared: DeclaredValue = ANY_VALUE,
    ) -> None:
        super().__init__(core, operator, name, ttl)
        self._plain, self._to_cached, _ = declared

    @staticmethod
    def _rest_of(key: CanonicalKey) -> bytes:
        return key  # type: ignore[return-value]  # parts of lists have names that are bytes

    @staticmethod
    def _name_of(data: bytes) -> CanonicalKey:
        return data

    # ---- the user's side

    def add(self, value: Any) -> None:  # hot
        key = self._operator.key
        cell = self._cells.get(key)
        if cell is None:
            cell = self._new_cell(key)
        if self.ttl is not None:
            self._move_time(cell)
        self._dirty[key] = cell
        cell.tail.append(value if type(value) in self._plain else self._to_cached(value))

    def add_all(self, values: Iterable[Any]) -> None:
        self._append(self._cached(values))

    def update(self, values: Iterable[Any]) -> None:
        added = self._cached(values)  # before anything is changed: they may be read from this very list
        self.clear()
        self._append(added)

    def _cached(self, values: Iterable[Any]) -> list[Any]:
        plain, to_cached = self._plain, self._to_cached
        return [value if type(value) in plain else to_cached(value) for value in values]

    def _append(self, added: list[Any]) -> None:
        key = self._operator.key
        cell = self._cells.get(key)
        if added:
            if cell is None:
                cell = self._new_cell(key)
            if self.ttl is not None:
                self._move_time(cell)
            cell.tail += added
            self._dirty[key] = cell

    def get(self) -> Elements:  # hot
        key = self._operator.key
        cell = self._cells.get(key)
        if cell is None:
            if self._core.complete:
                return Elements([])
            cell = self._new_cell(key)
        if self.ttl is not None:
            self._move_time(cell)
        if self.ttl is not None or not self._is_whole(key, cell) or len(cell.data) > _FEW_CHUNKS:
            return Elements(_Chunks(self, key, self._parts(key), cell.tail))
        elements: list[Any] = []
        data = cell.data
        for number in data if cell.ordered else in_order(data):
            elements += decode_chunk(data[number])
        elements += [decode_value(e) if type(e) is bytes else e for e in cell.tail]
        return Elements(elements)

    def clear(self) -> None:
        cell = self._cells.get(self._operator.key)
        if cell is not None:
            cell.tail = []
        super().clear()

    def is_empty(self) -> bool:
        key = self._operator.key
        cell = self._cells.get(key)
        return not (cell is not None and cell.tail) and not self._has_any(key)

    # ---- the backend's side

    def has_content(self) -> bool:
        return not self.is_empty()

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        for cell in self._dirty.values():
            self._store_tail(cell)
        super().collect(keys, values)

    def _move_time(self, cell: ListCell) -> None:
        """What was added at an earlier instant of the epoch expires before what is added now."""
        now = self._core.ttl_stamp
        if cell.stamp != now:
            if cell.tail:
                self._store_tail(cell)
            cell.stamp = now

    def _store_tail(self, cell: ListCell) -> None:
        tail, stamp = cell.tail, cell.stamp
        first = max(self._core.sequence << CHUNK_BITS, cell.last + 1)
        for index, start in enumerate(range(0, len(tail), CHUNK_ELEMENTS)):
            cell.last = first + index
            number = cell.last.to_bytes(8, "big")  # the highest so far: the order holds
            cell.data[number] = stamp + encode_elements(tail[start : start + CHUNK_ELEMENTS])
            cell.dirty.add(number)
        cell.tail = []

    def changed(self) -> int:
        return super().changed() + len(self._dirty)

    def cached_keys(self) -> set[CanonicalKey]:
        return super().cached_keys() | {key for key, cell in self._cells.items() if cell.tail}


def _elements_of(number: CanonicalKey, chunk: bytes) -> list[Any]:
    return decode_chunk(chunk)


class Elements(Iterable[Any]):
    """The elements of a list as it was when ``get()`` was called. Like what PyFlink gives it can be iterated
    over again and again, and has no length."""

    __slots__ = ("_elements",)

    def __init__(self, elements: Iterable[Any]) -> None:
        self._elements = elements

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __bool__(self) -> bool:
        return any(True for _ in self._elements)

    def __repr__(self) -> str:
        return repr(list(self._elements))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self._elements),)  # emitted as a record it is a plain list


class _Chunks(Iterable[Any]):
    """The elements of a long list, decoded a chunk at a time; good for this epoch only."""

    def __init__(self, column: ListColumn, current: CanonicalKey, parts: Parts, tail: list[Any]) -> None:
        self._column = column
        self._current = current
        self._parts = parts
        self._tail = tail  # only ever appended to
        self._tail_end = len(tail)
        self._epoch = column.core.epoch

    def __iter__(self) -> Iterator[Any]:
        chunks = Reader(self._column, self._current, self._parts, _elements_of, self._epoch)
        return chain(chain.from_iterable(chunks), chain.from_iterable(self._added()))

    def _added(self) -> Iterator[list[Any]]:
        for start in range(0, self._tail_end, CHUNK_ELEMENTS):
            yield _decoded(self._tail[start : min(start + CHUNK_ELEMENTS, self._tail_end)])


# ---- the kind


def list_column(operator: OperatorState, name: str, descriptor: Any, ttl: Ttl | None) -> ListColumn:
    """A new column with a list for each key, of elements of the descriptor's LIST."""
    return ListColumn(operator.core, operator, name, ttl, operator.declared.list(descriptor.type_info, name))


def element_type(type_info: TypeInformation) -> TypeInformation | None:
    """That of the elements of a declared LIST."""
    return type_info.elem_type if isinstance(type_info, ListTypeInfo) else type_info


def _row_type(declared: TypeInformation | None, element: TypeInformation) -> TypeInformation:
    return ListTypeInfo(element)


def _elements(parts: list[Entry]) -> list[Any]:
    return [element for _, chunk in parts for element in decode_chunk(chunk)]


def _recoding(convert: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Of the elements of a chunk; those of which there is none any more are left out."""

    def recode(body: bytes) -> bytes:
        converted = [convert(element) for element in decode_chunk(body)]
        kept = [to_cached(element) for element in converted if element is not None]
        return encode_elements(kept) if kept else TOMBSTONE

    return recode


def _put(column: ListColumn, elements: Any) -> bool:
    taken = not column.is_empty()
    column.update(elements)
    return taken


def _merge(target: ListState[Any], source: ListState[Any]) -> None:
    target.add_all(list(source.get()))


LIST: Final = KINDS.register(
    StateKind(
        name=ListColumn.kind,
        rows=rows_by_key(_elements),
        part=element_type,
        row_type=_row_type,
        recoding=_recoding,
        handles=Handles(
            descriptor=ListStateDescriptor,
            column=list_column,
            content=lambda handle: list(handle.get() or ()),
            is_collection=True,
            put=_put,
            merge=_merge,
            expires=True,
        ),
    )
)
