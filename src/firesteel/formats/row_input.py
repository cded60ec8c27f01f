"""Checks of schemas that write rows: the type of the input stream, and records that do not fit."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.typeinfo import BasicTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation

#: Errors that encoders raise for a record that does not fit.
MISFITS = (TypeError, ValueError, AttributeError, KeyError, ArithmeticError)


def check_rows(format_: str, expected: TypeInformation, declared: TypeInformation | None) -> None:
    """Check that records of a stream may be rows of a format, as far as their declared type tells.

    :raises ProgramError: they are single values, or have a different number of fields.
    """
    if isinstance(declared, (RowTypeInfo, TupleTypeInfo)) and isinstance(expected, RowTypeInfo):
        there, wanted = len(declared.get_field_types()), len(expected.get_field_types())
        if there == wanted:
            return
        problem = f"rows of {there} fields, the schema has {wanted}"
    elif isinstance(declared, BasicTypeInfo):
        problem = "single values, the schema writes rows"
    else:
        return
    raise ProgramError(
        f"{format_} does not fit the stream: it has {problem}",
        detail=f"stream: {declared}; schema: {expected}",
        hint="map the records, or declare the schema's type as that of the stream",
    )


def misfit(format_: str, record: Any, error: Exception) -> TypeMismatchError:
    """Return the error for a record that an encoder rejects."""
    return TypeMismatchError(
        f"a record does not fit the type of its {format_} schema",
        detail=f"{type(error).__name__}: {error}: {record!r}"[:500],
    )
