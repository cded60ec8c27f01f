"""What names mean at a place of a query: the relations of FROM, and the scopes around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from firesteel.sql.types import DataType, RowType

__all__ = ["Found", "Relation", "Scope", "ScopeColumn"]


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """:param index: in the row that the scope is about. :param hidden: not part of ``*`` and, without a
    qualifier, not found: the right one of two that USING has merged."""

    name: str
    type: DataType
    index: int
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """One item of FROM.

    :param name: its alias, or the last part of its path. :param path: of a table without an alias.
    """

    name: str | None
    columns: tuple[ScopeColumn, ...]
    path: tuple[str, ...] = ()

    def shifted(self, offset: int) -> Relation:
        return replace(self, columns=tuple(replace(c, index=c.index + offset) for c in self.columns))

    def is_called(self, path: Sequence[str]) -> bool:
        if len(path) == 1:
            return self.name == path[0]
        return bool(self.path) and len(self.path) >= len(path) and tuple(path) == self.path[-len(path) :]


@dataclass(frozen=True, slots=True)
class Found:
    """:param level: 0: this scope; 1: the next one outwards. :param rest: fields of a row that are still to
    be read."""

    level: int
    column: ScopeColumn
    rest: tuple[str, ...]


class AmbiguousError(Exception):
    """More than one column has the name."""


@dataclass(slots=True)
class Scope:
    """:param merged: of USING and NATURAL, name -> the column that it means without a qualifier.
    :param order: what ``*`` gives, where USING changes the order."""

    relations: list[Relation] = field(default_factory=list)
    parent: Scope | None = None
    merged: Mapping[str, ScopeColumn] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return sum(len(r.columns) for r in self.relations)

    def columns(self) -> Iterator[ScopeColumn]:
        """What ``*`` gives, in order."""
        for column in self.merged.values():
            yield column
        for relation in self.relations:
            for column in relation.columns:
                if not column.hidden and column.name not in self.merged:
                    yield column

    def all_columns(self) -> list[ScopeColumn]:
        return sorted((c for r in self.relations for c in r.columns), key=lambda c: c.index)

    def relation(self, path: Sequence[str]) -> Relation | None:
        for relation in self.relations:
            if relation.is_called(path):
                return relation
        return None

    def find(self, path: Sequence[str]) -> Found | None:
        """The column that a path means, here or further outwards.

        :raises AmbiguousError: two columns have the name.
        """
        scope: Scope | None = self
        level = 0
        while scope is not None:
            found = scope._find_here(path)
            if found is not None:
                return replace(found, level=level)
            scope = scope.parent
            level += 1
        return None

    def _find_here(self, path: Sequence[str]) -> Found | None:
        for parts in range(min(len(path) - 1, 3), 0, -1):
            relation = self.relation(path[:parts])
            if relation is not None:
                column = self._in([relation], path[parts])
                if column is not None:
                    return Found(0, column, tuple(path[parts + 1 :]))
        if path[0] in self.merged:
            return Found(0, self.merged[path[0]], tuple(path[1:]))
        column = self._in(self.relations, path[0], visible=True)
        return None if column is None else Found(0, column, tuple(path[1:]))

    @staticmethod
    def _in(relations: Sequence[Relation], name: str, visible: bool = False) -> ScopeColumn | None:
        found = [c for r in relations for c in r.columns if c.name == name and not (visible and c.hidden)]
        if len(found) > 1:
            raise AmbiguousError(name)
        return found[0] if found else None

    def names(self) -> list[str]:
        own = [c.name for c in self.columns()]
        return own if self.parent is None else own + self.parent.names()

    def has_table(self, name: str) -> bool:
        return self.relation([name]) is not None or (self.parent is not None and self.parent.has_table(name))


def relation_of(
    name: str | None, row: RowType, path: Sequence[str] = (), names: Sequence[str] | None = None
) -> Relation:
    """A relation of all columns of a row, under other names where they are given."""
    shown = list(row.names)
    if names is not None:
        shown[: len(names)] = names
    columns = tuple(
        ScopeColumn(n, f.data_type, i) for i, (n, f) in enumerate(zip(shown, row.fields, strict=True))
    )
    return Relation(name, columns, tuple(path))
