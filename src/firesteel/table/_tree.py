"""What an expression of a program is before it is resolved: a tree of plain data.

The classes of ``expression.py`` hold one of these; ``_resolver.py`` binds it against the columns of a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Alias",
    "Argument",
    "Column",
    "ColumnRange",
    "Columns",
    "Descriptor",
    "FunctionCall",
    "InTable",
    "Mark",
    "Ordered",
    "OverRef",
    "RowInterval",
    "SqlText",
    "Tree",
    "TypedCall",
    "Value",
    "WindowProperty",
]


@dataclass(frozen=True, slots=True)
class Tree:
    """Base of all nodes."""


@dataclass(frozen=True, slots=True)
class Column(Tree):
    name: str


@dataclass(frozen=True, slots=True)
class Value(Tree):
    """A constant. :param data_type: its type (``sql.types``); None: what the value says."""

    value: Any
    data_type: Any = None


@dataclass(frozen=True, slots=True)
class Mark(Tree):
    """A keyword argument: a unit of time, what to do on an error."""

    value: Any


@dataclass(frozen=True, slots=True)
class FunctionCall(Tree):
    """:param function: a name, the parts of a path, or a function of the user."""

    function: Any
    arguments: tuple[Tree, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class TypedCall(Tree):
    """CAST and its like. :param data_type: ``sql.types``."""

    function: str
    operand: Tree
    data_type: Any


@dataclass(frozen=True, slots=True)
class Alias(Tree):
    operand: Tree
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Argument(Tree):
    """A named argument."""

    operand: Tree
    name: str


@dataclass(frozen=True, slots=True)
class Ordered(Tree):
    operand: Tree
    ascending: bool


@dataclass(frozen=True, slots=True)
class WindowProperty(Tree):
    """start, end, rowtime or proctime of a window."""

    operand: Tree
    name: str


@dataclass(frozen=True, slots=True)
class OverRef(Tree):
    """A call over the window of a name."""

    operand: Tree
    window: Tree


@dataclass(frozen=True, slots=True)
class Columns(Tree):
    """Some columns, or (*without*) all others."""

    parts: tuple[Tree, ...]
    without: bool = False


@dataclass(frozen=True, slots=True)
class ColumnRange(Tree):
    """From one column to another, by names or by numbers from 1 on."""

    start: Any
    end: Any


@dataclass(frozen=True, slots=True)
class InTable(Tree):
    """``x IN (SELECT ...)``."""

    operand: Tree
    table: Any


@dataclass(frozen=True, slots=True)
class RowInterval(Tree):
    """A number of rows, as the size of a window."""

    rows: int


@dataclass(frozen=True, slots=True)
class SqlText(Tree):
    text: str


@dataclass(frozen=True, slots=True)
class Descriptor(Tree):
    names: tuple[str, ...]
