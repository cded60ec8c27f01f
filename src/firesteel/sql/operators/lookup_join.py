"""Joins with what a connector looks up for each row. The keys of a batch are asked for together, each of them
once. (Flink: ``LookupJoinRunner``, ``AsyncLookupJoinRunner``.)"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.clock import SystemClock
from firesteel.common.columns import Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.arrow import arrow_type
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
        self._condition: Evaluation | None = None
        self._projection: Evaluation | None = None
        self._joined = spec.right
        if spec.right_condition is not None:
            self._condition = Evaluation((spec.right_condition,), spec.right, spec.functions)
        if spec.right_projection is not None:
            self._projection = Evaluation(spec.right_projection, spec.right, spec.functions)
            self._joined = RowType(nullable=False, fields=spec.output.fields[len(spec.left.fields) :])
        self._pairs = Pairs(spec.left, self._joined, spec.condition, spec.functions)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._pairs.open(context)
        for evaluation in (self._keys, self._condition, self._projection):
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
        rows, right = self._right([row for of in lists for row in of], rows)
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
        return joined, rows

    def _right(self, found: list[tuple[Any, ...]], rows: Array) -> tuple[Array, list[pa.Array]]:
        """Return what is joined of the rows that were found, and the row of each that asked for it."""
        right = columns_of(found, self.spec.right)
        if self._condition is not None and len(right):
            mask = self._condition.mask(right, self.watermark)
            right, rows = right.filter(mask), rows[mask]
        if self._projection is None:
            return rows, list(right.arrays)
        if not len(right):
            return rows, [pa.nulls(0, arrow_type(data_type)) for data_type in self._joined.types]
        return rows, self._projection.run(right, self.watermark)

    def _look_up(self, keys: list[tuple[Any, ...]]) -> list[Any]:
        """Return the rows of each key. Those without any are asked for again, as the hint says."""
        found = self._ask(keys)
        for _ in range(self.spec.options.attempts):
            missing = [i for i, rows in enumerate(found) if not rows]
            if not missing:
                break
            SystemClock().sleep(self.spec.options.delay_ms / 1000)
            for i, rows in zip(missing, self._ask([keys[i] for i in missing]), strict=True):
                found[i] = rows
        return found

    def _ask(self, keys: list[tuple[Any, ...]]) -> list[Any]:
        lookup, options = self.spec.lookup, self.spec.options
        asynchronous = getattr(lookup, "lookup_async", None)
        if not callable(asynchronous) or (options.asynchronous is False and hasattr(lookup, "lookup")):
            return list(lookup.lookup(keys))

        async def all_of_them() -> list[Any]:
            room = asyncio.Semaphore(options.capacity)

            async def one(key: tuple[Any, ...]) -> Any:
                async with room:
                    return await asyncio.wait_for(asynchronous(key), options.timeout_ms / 1000)

            return list(await asyncio.gather(*map(one, keys)))

        return asyncio.run(all_of_them())
