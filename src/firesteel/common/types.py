"""Rows: records with numbered fields, perhaps with names, and a change kind (Flink: ``Row``, ``RowKind``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """What a row means in a changelog: an insertion, one half of an update, or a deletion."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _KIND_SYMBOLS[self.value]


_KIND_SYMBOLS = ("+I", "-U", "+U", "-D")
_KINDS = tuple(RowKind)
_INSERT = RowKind.INSERT


class Row:
    """A fixed number of values in order, reachable by position and, when the row has field names, by name.

    ``Row(1, "a")`` has no names, ``Row(id=1, name="a")`` has. A row without names may serve as a template:
    ``Row("id", "name")(1, "a")`` is ``Row(id=1, name="a")``.

    >>> row = Row(id=1, name="a")
    >>> row[0], row["name"], row.name, "id" in row
    (1, 'a', 'a', True)
    >>> row.as_dict()
    {'id': 1, 'name': 'a'}

    Two rows are equal when kind and values are; rows with names are compared name by name, in any order.
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: Sequence[str] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise ValueError("a Row is made from values or from named values, not from both")
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row of another kind than INSERT."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The values by name; with ``recursive`` rows inside lists, dicts and rows as well.

        :raises TypeError: the row has no field names.
        """
        fields = self._fields
        if fields is None:
            raise TypeError(f"a Row without field names cannot become a dict: {self!r}")
        if recursive:
            return dict(zip(fields, [_plain(value) for value in self._values], strict=False))
        return dict(zip(fields, self._values, strict=False))

    def get_row_kind(self) -> RowKind:
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        self._row_kind = row_kind

    def set_field_names(self, field_names: list[str]) -> None:
        """Name the fields. The list is shared, not copied: rows of one stream have one list of names."""
        self._fields = field_names

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """The values in the order of ``names``; all of them as they are when the row has no names.

        :raises ValueError: the row has no field of one of these names.
        """
        fields = self._fields
        if fields is None or names == fields:
            return self._values
        missing = [name for name in names if name not in fields]
        if missing:
            raise ValueError(f"no field {missing} in a Row with the fields {list(fields)}")
        return [self._values[fields.index(name)] for name in names]

    def _is_retract_msg(self) -> bool:
        return self._row_kind is RowKind.UPDATE_BEFORE or self._row_kind is RowKind.DELETE

    def _is_accumulate_msg(self) -> bool:
        return self._row_kind is RowKind.UPDATE_AFTER or self._row_kind is _INSERT

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        """A row whose field names are the values of this one."""
        if len(args) > len(self._values):
            raise ValueError(f"{self!r} names {len(self._values)} fields, but there are {len(args)} values")
        return _make_row(list(args), self._values, self._row_kind)

    def __getitem__(self, item: Any) -> Any:  # hot
        if item.__class__ is int or isinstance(item, (int, slice)):
            return self._values[item]
        if self._fields is None:
            raise AttributeError(f"a Row without field names has no field {item!r}")
        try:
            index = self._fields.index(item)
        except ValueError:
            raise ValueError(item) from None
        try:
            return self._values[index]
        except IndexError:
            raise KeyError(item) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
            return
        if self._fields is None:
            raise KeyError(key)
        try:
            index = self._fields.index(key)
        except ValueError:
            raise ValueError(value) from None
        try:
            self._values[index] = value
        except IndexError:
            raise KeyError(key) from None

    def __getattr__(self, item: str) -> Any:
        # Called only for what is neither a slot nor a method. Names with an underscore are never fields:
        # copy and pickle look for such names on objects whose slots are still empty.
        if item.startswith("_"):
            raise AttributeError(item)
        fields = self._fields
        if fields is None:
            raise AttributeError(item)
        try:
            return self._values[fields.index(item)]
        except (ValueError, IndexError):
            raise AttributeError(item) from None

    def __reduce__(self) -> tuple[Any, ...]:
        # A batch of rows is pickled at once: the shared list of names is written once, and the kind, an
        # Enum that would cost a name look-up for each row, only where it is not INSERT.
        if self._row_kind is _INSERT:
            return _make_row, (self._values, self._fields)
        return _make_row_of, (self._values, self._fields, self._row_kind.value)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join([repr(value) for value in self._values])})>"
        return f"Row({', '.join(f'{k}={v!r}' for k, v in zip(self._fields, self._values, strict=False))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self.__class__ is not other.__class__:
            return False
        mine, theirs = self._fields, other._fields
        if self._row_kind is not other._row_kind or (mine is None) != (theirs is None):
            return False
        if mine is theirs or mine is None or theirs is None or list(mine) == list(theirs):
            return self._values == other._values
        if sorted(mine) != sorted(theirs):
            return False
        return all(
            self._values[mine.index(name)] == other._values[theirs.index(name)] for name in sorted(mine)
        )

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _make_row(values: list[Any], fields: Sequence[str] | None, kind: RowKind = _INSERT) -> Row:  # hot
    """A row that keeps ``values`` and ``fields`` as they are, without copies."""
    row = Row.__new__(Row)
    row._values = values
    row._fields = fields
    row._row_kind = kind
    return row


def _make_like(record: Any, values: Iterable[Any]) -> Any:
    """A record like ``record`` (a Row, a named or a plain tuple, a list) with other values."""
    if isinstance(record, Row):
        return _make_row(list(values), record._fields, record._row_kind)
    return type(record)._make(values) if hasattr(record, "_make") else type(record)(values)


def _make_rows(lists: Iterable[list[Any]], fields: Sequence[str] | None) -> list[Row]:  # hot
    """As ``_make_row`` for each of the lists, in place."""
    new = Row.__new__
    rows: list[Row] = []
    append = rows.append
    for values in lists:
        row = new(Row)
        row._values = values
        row._fields = fields
        row._row_kind = _INSERT
        append(row)
    return rows


def _make_row_of(values: list[Any], fields: Sequence[str] | None, kind: int) -> Row:
    return _make_row(values, fields, _KINDS[kind])
