"""Joins with what a connector looks up for each row. The keys of a batch are asked for together, each of them
once. (Flink: ``LookupJoinRunner``, ``AsyncLookupJoinRunner``.)"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import RowwiseOperator
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.objects import objects_of
from firesteel.sql.operators.pairs import Pairs, taken
from firesteel.sql.operators.specs import LookupJoin
from firesteel.sql.types import RowType
from firesteel.state.backend import OperatorState

__all__ = ["LookupJoinOperator"]

Array = np.ndarray[Any, Any]


class LookupJoinOperator(RowwiseOperator):
    spec: LookupJoin

    def __init__(self, program: OperatorProgram, spec: LookupJoin) -> None:
        super().__init__(program, spec)
        self._keys = Evaluation(spec.keys, spec.left, spec.functions)
        self._pairs = Pairs(spec.left, spec.right, spec.condition, spec.functions)
        both = RowType(nullable=False, fields=(*spec.left.fields, *spec.right.fields))
        self._projection = (
            None if spec.projection is None else Evaluation(spec.projection, both, spec.functions)
        )

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._pairs.open(context)
        for evaluation in (self._keys, self._projection):
            if evaluation is not None:
                evaluation.open(context)
        opening = getattr(self.spec.lookup, "open", None)
        if callable(opening):
            opening()

    def close(self) -> None:
        closing = getattr(self.spec.lookup, "close", None)
        if callable(closing):
            closing()

    def convert(self, columns: Columns) -> tuple[Columns, Array | None]:
        arrays = self._keys.run(columns, self.watermark)
        types = [k.type for k in self.spec.keys]
        keys = list(zip(*(objects_of(a, d) for a, d in zip(arrays, types, strict=True)), strict=True))
        wanted = list(dict.fromkeys(key for key in keys if None not in key))
        found = dict(zip(wanted, self._look_up(wanted), strict=True)) if wanted else {}
        lists = [found.get(key, ()) for key in keys]
        rows = np.repeat(np.arange(len(columns)), [len(r) for r in lists])
        right = list(columns_of([row for of in lists for row in of], self.spec.right).arrays)
        at = pa.array(rows)
        left = [a.take(at) for a in columns.arrays]
        matches = np.flatnonzero(self._pairs.fulfilled([*left, *right], len(rows)))
        rows = rows[matches]
        if self.spec.kind == "LEFT":
            lonely = np.setdiff1d(np.arange(len(columns)), rows)
            every = np.append(rows, lonely)
            order = np.argsort(every, kind="stable")
            rows, matches = every[order], np.append(matches, np.full(len(lonely), -1))[order]
        made = columns.take(rows)
        joined = Columns([*made.arrays, *taken(right, matches)], len(rows), made.kinds)
        if self._projection is not None and len(rows):
            joined = joined.with_arrays(self._projection.run(joined, self.watermark))
        return joined, rows

    def _look_up(self, keys: list[tuple[Any, ...]]) -> list[Any]:
        lookup = self.spec.lookup
        asynchronous = getattr(lookup, "lookup_async", None)
        if not callable(asynchronous):
            return list(lookup.lookup(keys))

        async def all_of_them() -> list[Any]:
            return list(await asyncio.gather(*(asynchronous(key) for key in keys)))

        return asyncio.run(all_of_them())
