"""TO_CHANGELOG and FROM_CHANGELOG: the kind of a row as a value of a column, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError
from firesteel.program.operator_kinds import KINDS, OperatorKind
from firesteel.program.operators import OperatorSpec
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import RowwiseOperator

__all__ = ["FromChangelog", "InvalidOperationError", "ToChangelog"]

_OTHER: Final = -1


class InvalidOperationError(FiresteelError, ValueError):
    """A row says a change that FROM_CHANGELOG does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToChangelog(OperatorSpec):
    """:param codes: kind -> what the new first column has for it. Rows of other kinds are left out."""

    codes: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FromChangelog(OperatorSpec):
    """:param op: the column of codes, which is no column of the output. :param kinds: code -> kind."""

    op: int
    kinds: tuple[tuple[str, int], ...]


class ToChangelogOperator(RowwiseOperator):
    def __init__(self, program: OperatorProgram, spec: ToChangelog) -> None:
        super().__init__(program, spec)
        codes = dict(spec.codes)
        self._codes = pa.array([codes.get(kind) for kind in range(4)], pa.string())
        self._known = np.array([kind in codes for kind in range(4)])

    def convert(self, columns: Columns) -> tuple[Columns, np.ndarray[Any, Any] | None]:
        kinds = columns.kinds_or_inserts()
        rows = None
        keep = self._known[kinds]
        if not keep.all():
            rows = np.flatnonzero(keep)
            columns = columns.take(rows)
            kinds = kinds[rows]
        codes = self._codes.take(pa.array(kinds, pa.int8()))
        return Columns([codes, *columns.arrays], len(columns)), rows


class FromChangelogOperator(RowwiseOperator):
    def __init__(self, program: OperatorProgram, spec: FromChangelog) -> None:
        super().__init__(program, spec)
        self._op = spec.op
        self._codes = pa.array([code for code, _ in spec.kinds], pa.string())
        self._kinds = np.array([*(kind for _, kind in spec.kinds), _OTHER], np.int8)

    def convert(self, columns: Columns) -> tuple[Columns, np.ndarray[Any, Any] | None]:
        codes = columns.arrays[self._op]
        if codes.null_count:
            raise InvalidOperationError("Received NULL op code.", hint=self._hint())
        places = pc.index_in(codes, self._codes)
        if places.null_count:
            wrong = codes.filter(pc.is_null(places))[0].as_py()
            raise InvalidOperationError(f"Received invalid op code '{wrong}'.", hint=self._hint())
        kinds = self._kinds[np.asarray(places)]
        arrays = [a for i, a in enumerate(columns.arrays) if i != self._op]
        return Columns(arrays, len(columns), kinds if kinds.any() else None), None

    def _hint(self) -> str:
        return f"known codes are {', '.join(self._codes.to_pylist())}; op_mapping => MAP[...] says others"


_HERE: Final = "firesteel.sql.operators.changelog_functions:"
KINDS.register(OperatorKind(spec=ToChangelog, operator=_HERE + "ToChangelogOperator"))
KINDS.register(OperatorKind(spec=FromChangelog, operator=_HERE + "FromChangelogOperator"))
