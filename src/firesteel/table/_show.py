"""Expressions of programs as text, as Flink summarises them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from firesteel.table import _tree as tree

__all__ = ["show"]


def show(node: Any) -> str:
    match node:
        case tree.Column(name):
            return str(name)
        case tree.Value(value, _):
            return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
        case tree.Mark(value):
            return str(value)
        case tree.FunctionCall(function, arguments, distinct):
            name = function if isinstance(function, str) else getattr(function, "_name", repr(function))
            special = _SPECIAL.get(name)
            shown = special(*arguments) if special is not None else None
            if shown is None:
                shown = f"{_NAMES.get(name) or _camel(name)}({', '.join(map(show, arguments))})"
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
            return str(rows)
        case tree.SqlText(text):
            return f"[{text}]"
        case tree.Descriptor(names):
            return f"DESCRIPTOR({', '.join(names)})"
    return repr(node)


def _interval(value: Any, unit: Any, factor: Any) -> str | None:
    """Intervals are numbers of months or of milliseconds."""
    number = getattr(value, "value", None)
    return str(number * factor.value) if isinstance(number, int) else None


def _trim(where: Any, character: Any, text: Any) -> str:
    leading, trailing = where.value != "TRAILING", where.value != "LEADING"
    return f"trim({str(leading).lower()}, {str(trailing).lower()}, {show(character)}, {show(text)})"


def _date(text: Any, *form: Any) -> str | None:
    return None if form else f"cast({show(text)}, DATE)"


def _get(row: Any, field: Any) -> str | None:
    name = getattr(field, "value", None)
    return f"get({show(row)}, '{name}')" if isinstance(name, str) else None


#: What is not shown as a name with all arguments; None of it: it is.
_SPECIAL: Final[Mapping[str, Callable[..., str | None]]] = {
    "$INTERVAL": _interval,
    "TRIM": _trim,
    "TO_DATE": _date,
    "GET": _get,
}
#: Names of Flink's that are not ours in another spelling.
_NAMES: Final[Mapping[str, str]] = {
    "$FLATTEN": "flatten",
    "CONCAT_WS": "concat_ws",
    "INITCAP": "initCap",
    "LOCALTIME": "localTime",
    "LOCALTIMESTAMP": "localTimestamp",
    "SOURCE_WATERMARK": "SOURCE_WATERMARK",
    "TIMESTAMPDIFF": "timestampDiff",
}


def _camel(name: str) -> str:
    """``GREATER_THAN`` as ``greaterThan``."""
    first, *rest = name.split("_")
    return first.lower() + "".join(part.capitalize() for part in rest) if name.isupper() else name
