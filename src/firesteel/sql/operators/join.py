"""Regular joins. A row of one input meets what the other input holds for its key.

While rows of one input are worked on, the other side stands still: candidates of all rows of a batch are
gathered into columns, and the condition is evaluated once. Outer joins count for each row how many partners
it has, so they go row by row in what they give, not in what they evaluate. (Flink: ``StreamingJoinOperator``,
``StreamingSemiAntiJoinOperator``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, Columns, LateArrays, beside
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.appended_side import AppendedSide
from firesteel.sql.operators.base import TwoInputColumnsOperator
from firesteel.sql.operators.candidates import Candidates
from firesteel.sql.operators.join_side import JoinSide
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.pairs import Pairs, null_keys
from firesteel.sql.operators.specs import Join
from firesteel.state.backend import OperatorState

__all__ = ["InnerJoinOperator", "PartnersJoinOperator", "join_operator"]

Array = np.ndarray[Any, Any]
_ADDS: Final = (INSERT, UPDATE_AFTER)


def join_operator(program: OperatorProgram, spec: Join) -> InnerJoinOperator | PartnersJoinOperator:
    return (InnerJoinOperator if spec.kind == "INNER" else PartnersJoinOperator)(program, spec)


class _RegularJoin(TwoInputColumnsOperator):
    minds_time = False
    spec: Join

    def __init__(self, program: OperatorProgram, spec: Join) -> None:
        super().__init__(program, spec)
        self._pairs = Pairs(spec.left, spec.right, spec.condition, spec.functions)
        self._rows = (spec.left, spec.right)
        self._keys = (spec.left_keys, spec.right_keys)
        self._unique = (spec.left_unique, spec.right_unique)
        self._ttl_ms = (spec.left_ttl_ms, spec.right_ttl_ms)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._pairs.open(context)

    def _matching(self, rows: Columns, pairs: Candidates, input_index: int) -> tuple[LateArrays, Array]:
        """The columns of the left and the right rows of pairs, and which pairs fulfil the condition."""
        arrays = self._beside(rows, pairs, pairs.rows, pairs.at, input_index)
        return arrays, np.flatnonzero(self._pairs.fulfilled(arrays, len(pairs.rows)))

    @staticmethod
    def _beside(rows: Columns, pairs: Candidates, own: Array, held: Array, input_index: int) -> LateArrays:
        """The columns of both sides: of rows of the batch, and of held ones."""
        at, at_held = pa.array(own), pa.array(held)
        mine = LateArrays(len(rows.arrays), lambda i: rows.arrays[i].take(at))
        others = LateArrays(len(pairs.arrays), lambda i: pairs.arrays[i].take(at_held))
        return beside(mine, others) if input_index == 0 else beside(others, mine)


class InnerJoinOperator(_RegularJoin):
    """Rows meet, and nobody counts how often."""

    def on_open(self) -> None:
        self._sides = (self._side(0), self._side(1))
        self._canonical = not all(isinstance(side, AppendedSide) for side in self._sides)

    def _side(self, i: int) -> JoinSide | AppendedSide:
        spec, name = self.spec, self.spec.states[i]
        if (spec.left_appends, spec.right_appends)[i] and self._unique[i] is None and not self._ttl_ms[i]:
            return AppendedSide(self.state, name, self._rows[i], self._keys[i], any(spec.null_safe))
        return JoinSide(
            self.state, name, self._rows[i], self._keys[i], self._unique[i], False, self._ttl_ms[i]
        )

    def run(self, columns: Columns, input_index: int) -> None:
        keyed = KeyedRows.of(columns, self._keys[input_index], self._canonical)
        alone = null_keys(keyed.rows, self._keys[input_index], self.spec.null_safe)
        pairs = self._sides[1 - input_index].candidates(keyed, alone)
        if len(pairs.rows):
            arrays, matches = self._matching(keyed.rows, pairs, input_index)
            self._emit_pairs(keyed.rows, arrays, matches, pairs, input_index)
        self._sides[input_index].change_all(keyed, alone)

    def _emit_pairs(
        self, rows: Columns, arrays: LateArrays, matches: Array, pairs: Candidates, input_index: int
    ) -> None:
        if not len(matches):
            return
        chosen, times = matches, pairs.repeated[matches]
        if (times != 1).any():
            chosen = np.repeat(matches, times)
        if len(chosen) != len(pairs.rows) or len(matches) != len(chosen):
            arrays = self._beside(rows, pairs, pairs.rows[chosen], pairs.at[chosen], input_index)
        kinds = None if rows.kinds is None else rows.kinds[pairs.rows[chosen]]
        self.emit(Columns(arrays, len(chosen), kinds))


class PartnersJoinOperator(_RegularJoin):
    """Outer joins, SEMI and ANTI: how many partners a row has decides what leaves."""

    def __init__(self, program: OperatorProgram, spec: Join) -> None:
        super().__init__(program, spec)
        self._is_semi = spec.kind in ("SEMI", "ANTI")
        self._outer = (spec.kind in ("LEFT", "FULL"), spec.kind in ("RIGHT", "FULL"))

    def on_open(self) -> None:
        counts = (self._outer[0] or self._is_semi, self._outer[1])
        self._sides = tuple(
            JoinSide(
                self.state,
                self.spec.states[i],
                self._rows[i],
                self._keys[i],
                self._unique[i],
                counts[i],
                self._ttl_ms[i],
            )
            for i in (0, 1)
        )

    def run(self, columns: Columns, input_index: int) -> None:
        keyed = KeyedRows.of(columns, self._keys[input_index])
        alone = null_keys(keyed.rows, self._keys[input_index], self.spec.null_safe)
        pairs = self._sides[1 - input_index].candidates(keyed, alone)
        arrays, matches = self._matching(keyed.rows, pairs, input_index)
        partners: list[list[int]] = [[] for _ in range(len(keyed.rows))]
        for at, row in zip(matches.tolist(), pairs.rows[matches].tolist(), strict=True):
            partners[row].append(at)
        if self._is_semi:
            self._run_semi(keyed, input_index, pairs, partners)
        else:
            self._run_outer(keyed, input_index, pairs, partners, arrays)

    def _run_outer(
        self,
        keyed: KeyedRows,
        side: int,
        pairs: Candidates,
        partners: list[list[int]],
        arrays: LateArrays,
    ) -> None:
        """Flink: ``StreamingJoinOperator.processElement``."""
        mine, other = self._sides[side], self._sides[1 - side]
        outer, other_outer = self._outer[side], self._outer[1 - side]
        out = _Pairs()
        kinds = keyed.rows.kinds_or_inserts().tolist()
        at_held, times = pairs.at.tolist(), pairs.repeated
        held = pairs.held
        assert held is not None
        bodies, ids = mine.encode(keyed.rows)
        index = keyed.segments.index.tolist()
        for row, kind in enumerate(kinds):
            name, key = keyed.segments.names[index[row]], keyed.segments.keys[index[row]]
            found = partners[row]
            number = int(times[found].sum())
            adds = kind in _ADDS
            if not adds:
                mine.take(name, key, ids[row], bodies[row])
            if adds:
                mine.add(name, key, ids[row], bodies[row], number)
            if not found:
                if outer:
                    out.add(INSERT if adds else DELETE, row, None)
                continue
            alone = []  # what the other side has shown without a partner, or will
            if other_outer:
                had = [other.associate(*held.place(at_held[at]), 1 if adds else -1) for at in found]
                alone = [at for at, n in zip(found, had, strict=True) if n == (0 if adds else 1)]
            if adds:
                out.add_all(DELETE, None, alone, times)
                out.add_all(INSERT if outer or other_outer else kind, row, found, times)
            else:
                out.add_all(DELETE if outer else kind, row, found, times)
                out.add_all(INSERT, None, alone, times)
        others = arrays[len(self.spec.left.fields) :] if side == 0 else arrays[: len(self.spec.left.fields)]
        self._emit_outer(out, keyed.rows, others, side)

    def _emit_outer(self, out: _Pairs, rows: Columns, held: Sequence[pa.Array], side: int) -> None:
        if not out.kinds:
            return
        mine = pa.array(out.mine, pa.int64())
        others = pa.array(out.others, pa.int64())
        own = [a.take(mine) for a in rows.arrays]
        other = [a.take(others) for a in held]
        arrays = own + other if side == 0 else other + own
        kinds = np.array(out.kinds, np.int8)
        self.emit(Columns(arrays, len(out.kinds), kinds if kinds.any() else None))

    def _run_semi(self, keyed: KeyedRows, side: int, pairs: Candidates, partners: list[list[int]]) -> None:
        """Flink: ``StreamingSemiAntiJoinOperator``."""
        mine, other = self._sides[side], self._sides[1 - side]
        anti = self.spec.kind == "ANTI"
        kinds = keyed.rows.kinds_or_inserts().tolist()
        at_held, times = pairs.at.tolist(), pairs.repeated
        held = pairs.held
        assert held is not None
        bodies, ids = mine.encode(keyed.rows)
        index = keyed.segments.index.tolist()
        out: list[bytes] = []
        out_kinds: list[int] = []
        for row, kind in enumerate(kinds):
            name, key = keyed.segments.names[index[row]], keyed.segments.keys[index[row]]
            found = partners[row]
            if side == 0:
                if bool(found) != anti:
                    out.append(bodies[row])
                    out_kinds.append(kind)
                if kind in _ADDS:
                    mine.add(name, key, ids[row], bodies[row], int(times[found].sum()))
                else:
                    mine.take(name, key, ids[row], bodies[row])
                continue
            adds = kind in _ADDS
            if adds:
                mine.add(name, key, ids[row], bodies[row], 0)
            else:
                mine.take(name, key, ids[row], bodies[row])
            for at in found:
                had = other.associate(*held.place(at_held[at]), 1 if adds else -1)
                if had != (0 if adds else 1):
                    continue
                change = kind if not anti else DELETE if adds else INSERT
                often = int(times[at])
                out += [held.bodies[at_held[at]]] * often
                out_kinds += [change] * often
        if out:
            arrays = self._sides[0].codec.decode(out)
            changes = np.array(out_kinds, np.int8)
            self.emit(Columns(arrays, len(out), changes if changes.any() else None))


class _Pairs:
    """Rows that leave: of the own side by row, of the other by pair; None: nulls."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.mine: list[int | None] = []
        self.others: list[int | None] = []

    def add(self, kind: int, row: int | None, pair: int | None) -> None:
        self.kinds.append(kind)
        self.mine.append(row)
        self.others.append(pair)

    def add_all(self, kind: int, row: int | None, pairs: list[int], times: Array) -> None:
        """Each pair as often as its held row is there."""
        for pair in pairs:
            for _ in range(int(times[pair])):
                self.add(kind, row, pair)
