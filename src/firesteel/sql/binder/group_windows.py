"""The old form of windows: TUMBLE(ts, INTERVAL '1' HOUR) in GROUP BY, TUMBLE_START(...) in SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from firesteel.sql import types as t
from firesteel.sql.binder.calls import calcite_text
from firesteel.sql.expressions import Expression, Literal
from firesteel.sql.parser.errors import Place
from firesteel.sql.schema import with_attribute

if TYPE_CHECKING:
    from firesteel.sql.binder.expressions import ExpressionBinder

__all__ = ["AUXILIARY", "Window", "bind_window", "is_window_call", "millis", "property_type"]

_KINDS: Final = ("TUMBLE", "HOP", "SESSION")

#: function -> (window, property)
AUXILIARY: Final = {
    f"{kind}_{suffix}": (kind, prop)
    for kind in _KINDS
    for suffix, prop in (("START", "start"), ("END", "end"), ("ROWTIME", "rowtime"), ("PROCTIME", "proctime"))
}


@dataclass(frozen=True, slots=True)
class Window:
    """:param time: a time attribute; in batch mode any timestamp. :param arguments: of the call in GROUP BY;
    auxiliary functions have the same ones. :param place: of the time."""

    kind: str
    time: Expression
    size: int
    slide: int
    offset: int
    arguments: tuple[Expression, ...]
    place: Place | None = field(default=None, compare=False)

    @property
    def attribute(self) -> str:
        return getattr(self.time.type, "attribute", t.TimeAttribute.NONE)

    def is_of(self, inner: ExpressionBinder, node: exp.Expr) -> bool:
        """Whether an auxiliary function has the arguments of this window."""
        return tuple(inner.bind(a) for a in node.expressions) == self.arguments


def is_window_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.this in _KINDS and not node.args.get("path")


def millis(expressions: ExpressionBinder, node: exp.Expr, value: Expression) -> int:
    """The length of a constant interval of days to seconds."""
    from firesteel.sql.rules.constants import folded

    found = value if isinstance(value, Literal) else folded(value)
    if not isinstance(found, Literal) or not isinstance(found.type, t.DayTimeIntervalType):
        expressions.refuse(node, "The size of a window must be a constant interval of days to seconds")
    return int(found.value)


def bind_window(inner: ExpressionBinder, node: exp.Expr) -> Window:
    """The window of a call in GROUP BY."""
    kind = node.this
    arguments = tuple(inner.bind(a) for a in node.expressions)
    least = 3 if kind == "HOP" else 2
    if not least <= len(arguments) <= (2 if kind == "SESSION" else least + 1):
        inner.refuse(
            node, f"{kind} takes a time attribute and {'two intervals' if kind == 'HOP' else 'an interval'}"
        )
    time = arguments[0]
    _check_time(inner, node, arguments)
    sizes = [millis(inner, n, a) for n, a in zip(node.expressions[1:], arguments[1:], strict=True)]
    slide, size = (sizes[0], sizes[1]) if kind == "HOP" else (0, sizes[0])
    offset = sizes[least - 1] if len(sizes) >= least else 0
    place = inner.binder.place(node.expressions[0])
    return Window(kind, time, size, slide, offset, arguments, place)


def _check_time(inner: ExpressionBinder, node: exp.Expr, arguments: Sequence[Expression]) -> None:
    """Refuse what has no time; in batch mode any timestamp is one."""
    time = arguments[0].type
    if not isinstance(time, t.TimestampType | t.LocalZonedTimestampType):
        given = ", ".join(f"<{calcite_text(a.type)}>" for a in arguments)
        inner.refuse(
            node,
            f"Cannot apply '${node.this}' to arguments of type '${node.this}({given})'. "
            f"Supported form(s): '${node.this}(<DATETIME>, <DATETIME_INTERVAL>)'",
        )
    if t.attribute_of(time) == t.TimeAttribute.NONE and inner.binder.settings.streaming:
        inner.refuse(
            node.expressions[0],
            "Window aggregate can only be defined over a time attribute column, but "
            f"{time.text()} encountered.",
            "a column with a WATERMARK, or PROCTIME()",
        )


def property_type(name: str, window: Window, expressions: Any, node: exp.Expr) -> t.DataType:
    """The type of a property of a window."""
    time = window.time.type
    if name in ("start", "end"):
        return t.TimestampType(precision=3, nullable=False)
    if name == "rowtime":
        if window.attribute == t.TimeAttribute.PROCTIME:
            expressions.refuse(node, "A proctime window cannot provide a rowtime attribute.")
        kind = t.LocalZonedTimestampType if isinstance(time, t.LocalZonedTimestampType) else t.TimestampType
        return kind(precision=3, attribute=t.TimeAttribute.ROWTIME, nullable=time.nullable)
    ltz = t.LocalZonedTimestampType(precision=3, nullable=False)
    return with_attribute(ltz, t.TimeAttribute.PROCTIME)
