"""Expressions whose types are known (PyFlink: ``pyflink.table.resolved_expression``)."""

from __future__ import annotations

from typing import Any

from firesteel.table import _tree as tree
from firesteel.table._conversions import data_type_of
from firesteel.table.expression import Expression
from firesteel.table.types import DataType

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression of a resolved schema."""

    __slots__ = ("_bound", "_text")

    def __init__(self, bound: Any, text: str = "") -> None:
        super().__init__(tree.SqlText(text))
        self._bound = bound
        self._text = text

    def get_output_data_type(self) -> DataType:
        """The type of its values."""
        return data_type_of(self._bound.type)

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """The operands of a call."""
        return [ResolvedExpression(o) for o in getattr(self._bound, "operands", ())]

    def as_summary_string(self) -> str:
        return self._text or str(self._bound)

    def as_serializable_string(self) -> str:
        """As SQL."""
        return self._text

    def __str__(self) -> str:
        return self.as_summary_string()
