"""What a data type is, under PyFlink's names (``pyflink.table.types``).

Data types describe columns in programs; what the planner works with is ``firesteel.sql.types``, and
``logical`` gives that. The methods ``to_sql_type`` and ``from_sql_type`` are PyFlink's conversions of single
values.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

from firesteel.common._no_effect import tell_no_effect
from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.sql import types as t

__all__ = ["AtomicType", "DataType", "checked_number", "checked_type"]


def checked_number(what: str, value: Any, low: int, high: int) -> int:
    """:raises ProgramError: the length or precision *what* is not from *low* to *high*."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ProgramError(f"the {what} of a data type is not from {low} to {high}: {value}")
    return value


class DataType:
    """A type of columns. May hold NULL unless ``not_null()`` says otherwise."""

    _sql: ClassVar[type[t.DataType]]

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @property
    def logical(self) -> t.DataType:
        """The type as the planner has it."""
        return self._sql(nullable=self._nullable)

    @property
    def type_info(self) -> TypeInformation:
        """The type that records of streams have for it."""
        from firesteel.table._conversions import type_info_of

        return type_info_of(self.logical)

    @property
    def is_nullable(self) -> bool:
        return self._nullable

    @classmethod
    def type_name(cls) -> str:
        """As in ``str()``: the name of the class in capitals, without ``Type``."""
        return cls.__name__.removesuffix("Type").upper()

    def not_null(self) -> Self:
        found = copy(self)
        found._nullable = False
        return found

    def nullable(self) -> Self:
        found = copy(self)
        found._nullable = True
        return found

    def bridged_to(self, conversion_cls: str) -> Self:
        """Return the type itself: this has no effect, and a warning says so."""
        tell_no_effect("bridged_to", f"values are Python objects, {conversion_cls} is a class of Java")
        return self

    def need_conversion(self) -> bool:
        """Whether ``to_sql_type`` changes values."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """The internal form of a value."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """The value of an internal form."""
        return obj

    def _arguments(self) -> tuple[Any, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __ne__(self, other: object) -> bool:  # PyFlink's class has it
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))

    def __str__(self) -> str:
        return self.type_name()

    def __repr__(self) -> str:
        shown = [repr(a) if isinstance(a, DataType) else str(a) for a in self._arguments()]
        return f"{type(self).__name__}({', '.join([*shown, str(self._nullable).lower()])})"


class AtomicType(DataType):
    """A type without parts."""


def checked_type(value: Any, what: str) -> DataType:
    """:raises ProgramError: the part *what* is not a data type."""
    if not isinstance(value, DataType):
        raise ProgramError(f"The {what} of a data type is a data type.", detail=f"got {value!r}")
    return value
