"""Rolling aggregates of a keyed stream: sum, min, max, min_by, max_by."""

from __future__ import annotations

from enum import Enum
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import (
    BasicTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from firesteel.common.types import Row
from firesteel.program.checks import WrongArgumentError
from firesteel.program.functions.base import ReduceFunction


class AccumulateType(Enum):
    """Which rolling aggregate (PyFlink: ``KeyedStream.AccumulateType``)."""

    MIN = 1
    MAX = 2
    MIN_BY = 3
    MAX_BY = 4
    SUM = 5


class RollingAggregate(ReduceFunction):
    """Folds one field of tuples, Rows and lists, or a plain value.

    ``min`` and ``max`` keep the other fields of the first record, ``min_by`` and ``max_by`` keep the whole
    record, the first one of several that are equal.
    """

    def __init__(self, position: int | str, kind: AccumulateType) -> None:
        self.position = position
        self.kind = kind
        self._whole_record = kind in _WHOLE_RECORD
        self._pick = _PICK[kind]

    def reduce(self, value1: Any, value2: Any) -> Any:  # hot
        position: Any = self.position
        if not isinstance(value2, (tuple, list, Row)):
            if position != 0 and not self._whole_record:
                raise _plain_value_error(position)
            return self._pick(value1, value2)
        one = value1[position]
        result = self._pick(one, value2[position])
        if self._whole_record:
            return value1 if result is one else value2
        return _with_field(value1, position, result)


def _with_field(record: Any, position: Any, value: Any) -> Any:
    """A copy of ``record``: the one that was emitted before must not change with it."""
    if isinstance(record, Row):
        row = Row(*record)
        if record._fields is not None:
            row.set_field_names(list(record._fields))
        row.set_row_kind(record.get_row_kind())
        row[position] = value
        return row
    fields = list(record)
    fields[position] = value
    return fields if isinstance(record, list) else tuple(fields)


def _smaller(one: Any, two: Any) -> Any:
    return two if two < one else one


def _larger(one: Any, two: Any) -> Any:
    return two if two > one else one


def _plus(one: Any, two: Any) -> Any:
    return one + two


_WHOLE_RECORD = frozenset((AccumulateType.MIN_BY, AccumulateType.MAX_BY))
_PICK = {
    AccumulateType.MIN: _smaller,
    AccumulateType.MIN_BY: _smaller,
    AccumulateType.MAX: _larger,
    AccumulateType.MAX_BY: _larger,
    AccumulateType.SUM: _plus,
}


def check_position(
    position: Any, kind: AccumulateType, type_info: TypeInformation | None, operator: str
) -> None:
    """The field that is aggregated exists, as far as the declared type can tell."""
    if not isinstance(position, (int, str)):
        raise WrongArgumentError(
            "The field to aggregate is given by its index or its name.",
            operator=operator,
            detail=f"got {position!r} of type {type(position).__name__}",
        )
    if isinstance(type_info, RowTypeInfo):
        names: list[str] = list(type_info.get_field_names())
        if isinstance(position, str):
            if position not in names:
                raise ProgramError(
                    f"There is no field {position!r}.", operator=operator, detail=f"the fields are {names}"
                )
        else:
            _check_index(position, len(names), operator)
    elif isinstance(type_info, TupleTypeInfo):
        if isinstance(position, str):
            raise WrongArgumentError(
                "The fields of a tuple have no names.",
                operator=operator,
                detail=f"got {position!r}",
                hint="give the index of the field, or use a Row with named fields",
            )
        _check_index(position, len(type_info.get_field_types()), operator)
    elif isinstance(type_info, BasicTypeInfo) and position != 0 and kind not in _WHOLE_RECORD:
        raise _plain_value_error(position, operator)


def _check_index(position: int, count: int, operator: str) -> None:
    if not -count <= position < count:
        raise ProgramError(
            f"There is no field {position}.", operator=operator, detail=f"a record has {count} fields"
        )


def _plain_value_error(position: Any, operator: str | None = None) -> WrongArgumentError:
    return WrongArgumentError(
        "A plain value has no fields.",
        operator=operator,
        detail=f"field {position!r} was asked for",
        hint="leave the position out, or give 0, which stands for the whole value",
    )
