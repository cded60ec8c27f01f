"""Records of a class as plain data: the class once, then the values of each record.

Pickled one by one without the memo, objects would name their class and attributes each time; with the memo,
the bytes would depend on which records happen to share an object.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from typing import Any, Final

from firesteel.common._map_all import map_all
from firesteel.common.types import Row, RowKind, _make_rows

_ROWS: Final = "rows"
_OBJECTS: Final = "objects"
_NAMED_TUPLES: Final = "named tuples"
_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class statement made it
_INSERT: Final = RowKind.INSERT

Packed = tuple[Any, ...]


def pack(values: list[Any]) -> list[Any] | Packed:
    """A tuple for records of one class that can be taken apart, else the list itself."""
    kind = type(values[0]) if values else None
    packer = _packers.get(kind)
    if packer is None:
        packer = _packers[kind] = _packer_of(kind)
    if packer is _as_they_are or any(type(v) is not kind for v in values):
        return values
    return packer(values)


def unpack(packed: list[Any] | Packed) -> list[Any]:
    if type(packed) is list:
        return packed
    return _UNPACKERS[packed[0]](*packed[1:])


def _as_they_are(values: list[Any]) -> list[Any]:
    return values


def _pack_rows(values: list[Row]) -> list[Any] | Packed:
    fields = values[0]._fields
    for row in values:
        if row._row_kind is not _INSERT or (row._fields is not fields and row._fields != fields):
            return values
    return _ROWS, fields, [row._values for row in values]


def _unpack_rows(fields: Any, rows: list[list[Any]]) -> list[Row]:
    return _make_rows(rows, fields)


def _pack_objects(values: list[Any]) -> list[Any] | Packed:
    names = list(values[0].__dict__)
    states = [value.__dict__ for value in values]
    if any(list(state) != names for state in states):
        return values
    return _OBJECTS, type(values[0]), names, [tuple(state.values()) for state in states]


def _unpack_objects(cls: Any, names: list[str], rows: list[tuple[Any, ...]]) -> list[Any]:
    new, out = cls.__new__, []
    names = list(map(sys.intern, names))
    for row in rows:
        value = new(cls)
        value.__dict__.update(zip(names, row, strict=True))
        out.append(value)
    return out


def _pack_named_tuples(values: list[Any]) -> Packed:
    return _NAMED_TUPLES, type(values[0]), map_all(tuple, values)


def _unpack_named_tuples(cls: type, rows: list[tuple[Any, ...]]) -> list[Any]:
    new = tuple.__new__
    return [new(cls, row) for row in rows]


_Packer = Callable[[list[Any]], list[Any] | Packed]

_packers: dict[type | None, _Packer] = {Row: _pack_rows}
_UNPACKERS: Final[dict[str, Callable[..., list[Any]]]] = {
    _ROWS: _unpack_rows,
    _OBJECTS: _unpack_objects,
    _NAMED_TUPLES: _unpack_named_tuples,
}


def _packer_of(kind: Any) -> _Packer:
    if kind is None or not _pickles_by_default(kind):
        return _as_they_are
    if kind.__bases__ == (tuple,) and hasattr(kind, "_fields") and not kind.__dictoffset__:
        return _pack_named_tuples
    mine = kind.__mro__[:-1]
    if (
        kind.__dictoffset__
        and all(cls.__flags__ & _HEAP_TYPE for cls in mine)
        and kind.__new__ is object.__new__
        and not hasattr(kind, "__getnewargs__")
        and not any(vars(cls).get("__slots__") for cls in mine)
    ):
        return _pack_objects
    return _as_they_are


def _pickles_by_default(kind: Any) -> bool:
    """Nothing of the class's own, or registered for it, has a say in how its objects are pickled."""
    return (
        kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(kind, "__setstate__")
        and not hasattr(kind, "__getnewargs_ex__")
        and kind not in copyreg.dispatch_table
    )
