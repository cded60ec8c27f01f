"""Expressions of programs as text, as Flink summarises them."""

from __future__ import annotations

from typing import Any

from firesteel.table import _tree as tree

__all__ = ["show"]


def show(node: Any) -> str:
    match node:
        case tree.Column(name):
            return str(name)
        case tree.Value(value, _):
            return f"'{value}'" if isinstance(value, str) else str(value)
        case tree.Mark(value):
            return str(value)
        case tree.FunctionCall(function, arguments, distinct):
            name = function if isinstance(function, str) else getattr(function, "_name", repr(function))
            shown = f"{_camel(name)}({', '.join(map(show, arguments))})"
            return f"distinct({shown})" if distinct else shown
        case tree.TypedCall(function, operand, data_type):
            return f"{function.lower()}({show(operand)}, {data_type})"
        case tree.Alias(operand, names):
            return f"as({show(operand)}, {', '.join(repr(n) for n in names)})"
        case tree.Argument(operand, name):
            return f"asArgument({show(operand)}, {name!r})"
        case tree.Ordered(operand, ascending):
            return f"{'asc' if ascending else 'desc'}({show(operand)})"
        case tree.WindowProperty(operand, name):
            return f"{name}({show(operand)})"
        case tree.OverRef(operand, window):
            return f"over({show(operand)}, {show(window)})"
        case tree.Columns(parts, without):
            return f"{'withoutColumns' if without else 'withColumns'}({', '.join(map(show, parts))})"
        case tree.ColumnRange(start, end):
            return f"rangeTo({start}, {end})"
        case tree.InTable(operand, table):
            return f"in({show(operand)}, {table})"
        case tree.RowInterval(rows):
            return f"{rows}.rows"
        case tree.SqlText(text):
            return f"callSql({text!r})"
        case tree.Descriptor(names):
            return f"DESCRIPTOR({', '.join(names)})"
    return repr(node)


def _camel(name: str) -> str:
    """``GREATER_THAN`` as ``greaterThan``."""
    first, *rest = name.split("_")
    return first.lower() + "".join(part.capitalize() for part in rest) if name.isupper() else name
