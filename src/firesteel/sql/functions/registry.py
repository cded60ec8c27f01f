"""One record for each function: names, type rule, and one implementation.

A scalar function has one implementation, either on columns (``columns``: Arrow arrays in, an Arrow array out,
nulls included) or for one value (``value``: called for rows in which no argument is null unless
``takes_null``). Aggregates are described here and computed by ``sql/operators``: built-in ones by kernels
that scan within keys, those of users row by row.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from firesteel.program.registry import Registry
from firesteel.sql.expressions import Expression
from firesteel.sql.types import DataType

__all__ = ["FUNCTIONS", "CallTypes", "FunctionDefinition", "FunctionKind", "TypeRule"]


class FunctionKind(enum.Enum):
    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    TABLE = "table"
    TABLE_AGGREGATE = "table aggregate"
    PROCESS_TABLE = "process table"
    ASYNC_SCALAR = "async scalar"
    ASYNC_TABLE = "async table"


class CallTypes(Protocol):
    """What a type rule sees of a call (Flink: ``CallContext``)."""

    @property
    def types(self) -> Sequence[DataType]:
        """The types of the arguments as they are written."""

    def literal(self, index: int) -> Any:
        """The value of argument *index* if it is a literal, else None."""


@dataclass(frozen=True, slots=True)
class Typing:
    """What a type rule answers.

    :param result: the type of the call.
    :param arguments: the type to which each argument is cast implicitly; equal to the given one where
        nothing is to be done.
    """

    result: DataType
    arguments: tuple[DataType, ...]


#: None: the function does not take such arguments, and the binder says which ones it takes (``signatures``).
TypeRule = Callable[[CallTypes], Typing | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDefinition:
    """A function.

    :param name: as in ``Call.function`` and in plans, upper case; never changed.
    :param sql_names: how SQL calls it, upper case; empty: it has syntax of its own (operators, CAST).
    :param signatures: for error texts, such as ``("SUBSTRING(<CHARACTER_STRING>, <INTEGER_NUMERIC>)",)``.
    :param deterministic: the same arguments always give the same value. :param dynamic: it is constant within
        one query only (CURRENT_TIMESTAMP in batch mode).
    :param columns: ``(context, *arrays) -> array``. :param value: ``(context, *values) -> value``; a table
        function's yields rows.
        An argument that is constant comes to ``columns`` as an Arrow scalar. Values are physical
        (``sql/values.py``).
    :param takes_null: ``value`` is called with nulls too.
    :param total: it fails for no arguments and costs little, so it may be computed for rows that do not need
        it.
    :param expand: ``operands -> Expression``: the call is short for that expression and in no plan itself.
    :param null_when_empty: an aggregate's result is NULL where it has no row, whatever ``rule`` says.
    :param aggregate: for aggregates, the name of their kernel in ``sql/operators/kernels``, or an object of
        the user.
    :param doc: one sentence for the reference; the example is run by a test.
    """

    name: str
    kind: FunctionKind = FunctionKind.SCALAR
    sql_names: tuple[str, ...] = ()
    rule: TypeRule
    signatures: tuple[str, ...] = ()
    deterministic: bool = True
    dynamic: bool = False
    columns: Callable[..., Any] | None = None
    value: Callable[..., Any] | None = None
    takes_null: bool = False
    total: bool = False
    expand: Callable[..., Expression] | None = None
    null_when_empty: bool = False
    aggregate: Any = None
    doc: str = ""
    example: str = ""


FUNCTIONS: Final = Registry("SQL function", FunctionDefinition)
