"""What a program of expressions is made of: frames of rows, and nodes that are evaluated in them.

CASE, AND, OR and COALESCE evaluate a branch that may fail, or that is costly, in a frame of the rows that
need it only; what the larger frame has computed already is not computed anew there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.errors import FiresteelError
from firesteel.sql.arrow import arrow_type
from firesteel.sql.context import CallSite, EvaluationContext, EvaluationError
from firesteel.sql.expressions import Call
from firesteel.sql.functions.calls import describe
from firesteel.sql.functions.lifting import lifted
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.types import DataType

__all__ = ["SPECIAL", "CallNode", "Constant", "Frame", "Input", "Node", "SymbolScalar", "truth"]

Value = Any  # pa.Array, or pa.Scalar for what is the same in all rows


class Frame:
    """Some rows, and the values of nodes for them."""

    __slots__ = ("arrays", "context", "indices", "length", "memo", "parent")

    def __init__(
        self,
        arrays: Sequence[pa.Array],
        length: int,
        context: EvaluationContext,
        parent: Frame | None = None,
        indices: pa.Array | None = None,
    ) -> None:
        self.arrays = arrays
        self.length = length
        self.context = context
        self.parent = parent
        self.indices = indices
        self.memo: dict[int, Value] = {}

    def part(self, rows: Any) -> Frame:
        """Only the rows at the positions *rows*."""
        return Frame((), len(rows), self.context, self, pa.array(rows))

    def column(self, index: int) -> pa.Array:
        if self.parent is None:
            return self.arrays[index]
        return self.parent.column(index).take(self.indices)

    def known(self, number: int) -> Value | None:
        """What a node has given already, here or for more rows."""
        found = self.memo.get(number)
        if found is None and self.parent is not None:
            found = self.parent.known(number)
            if found is not None:
                if isinstance(found, pa.Array):
                    found = found.take(self.indices)
                self.memo[number] = found
        return found


class Node:
    """One expression. ``total``: it fails for no row and costs little."""

    __slots__ = ("number", "total", "type")

    def __init__(self, number: int, data_type: DataType, total: bool) -> None:
        self.number = number
        self.type = data_type
        self.total = total

    def value(self, frame: Frame) -> Value:
        found = frame.known(self.number)
        if found is None:
            found = frame.memo[self.number] = self.compute(frame)
        return found

    def compute(self, frame: Frame) -> Value:
        raise NotImplementedError

    def array(self, frame: Frame) -> pa.Array:
        found = self.value(frame)
        return found if isinstance(found, pa.Array) else pa.repeat(found, frame.length)


class Input(Node):
    __slots__ = ("index",)

    def __init__(self, number: int, data_type: DataType, index: int) -> None:
        super().__init__(number, data_type, True)
        self.index = index

    def compute(self, frame: Frame) -> Value:
        return frame.column(self.index)


class Constant(Node):
    __slots__ = ("scalar",)

    def __init__(self, number: int, data_type: DataType, scalar: pa.Scalar) -> None:
        super().__init__(number, data_type, True)
        self.scalar = scalar

    def compute(self, frame: Frame) -> Value:
        return self.scalar


class SymbolScalar:
    """A keyword: it goes to the implementation as it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def as_py(self) -> Any:
        return self.value


class CallNode(Node):
    __slots__ = ("definition", "operands", "site")

    def __init__(
        self, number: int, call: Call, definition: FunctionDefinition, operands: Sequence[Node]
    ) -> None:
        super().__init__(number, call.type, definition.total and all(o.total for o in operands))
        self.definition = definition
        self.operands = operands
        self.site = CallSite(tuple(o.type for o in operands), call.type, describe(call))

    def compute(self, frame: Frame) -> Value:
        if not frame.length:
            return pa.nulls(0, arrow_type(self.type))
        arguments = [o.value(frame) for o in self.operands]
        if arguments and not any(isinstance(a, pa.Array) for a in arguments):
            length = 1 if self.definition.deterministic else frame.length
            arguments = [a if isinstance(a, SymbolScalar) else pa.repeat(a, length) for a in arguments]
            found = self._apply(arguments, frame, length)
            return found[0] if self.definition.deterministic else found
        return self._apply(arguments, frame, frame.length)

    def _apply(self, arguments: Sequence[Value], frame: Frame, length: int) -> pa.Array:
        site = self.site
        site.length = length
        site.evaluation = frame.context
        definition = self.definition
        try:
            if definition.columns is not None:
                return _array(definition.columns(site, *arguments), site, length)
            return lifted(definition, site, arguments)
        except FiresteelError:
            raise
        except (ValueError, ArithmeticError, TypeError, LookupError, pa.ArrowException) as error:
            raise EvaluationError(
                str(error) or type(error).__name__,
                detail=f"while {site.text} was evaluated",
                expression=site.text,
            ) from error


def _array(found: Any, site: CallSite, length: int) -> pa.Array:
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if isinstance(found, pa.Scalar):
        found = pa.repeat(found, length)
    wanted = arrow_type(site.result)
    return found if found.type == wanted else found.cast(wanted)


# ---- what evaluates branches


def truth(node: Node, frame: Frame) -> Any:
    """A NumPy mask: true where a condition is TRUE."""
    found = node.value(frame)
    if isinstance(found, pa.Scalar):
        return np.full(frame.length, found.as_py() is True)
    if found.null_count:
        found = pc.fill_null(found, False)
    return found.to_numpy(zero_copy_only=False)


class _Case(Node):
    """Conditions and results in turn, then the result of ELSE."""

    __slots__ = ("conditions", "otherwise", "results")

    def __init__(self, number: int, data_type: DataType, operands: Sequence[Node]) -> None:
        super().__init__(number, data_type, all(o.total for o in operands))
        self.conditions = operands[:-1:2]
        self.results = operands[1:-1:2]
        self.otherwise = operands[-1]

    def compute(self, frame: Frame) -> Value:
        if self.total:
            return self._at_once(frame)
        return self._in_turn(frame)

    def _at_once(self, frame: Frame) -> Value:
        found = self.otherwise.value(frame)
        for condition, result in zip(reversed(self.conditions), reversed(self.results), strict=True):
            mask = condition.value(frame)
            if isinstance(mask, pa.Scalar):
                found = result.value(frame) if mask.as_py() is True else found
            else:
                found = pc.if_else(pc.fill_null(mask, False), result.value(frame), found)
        return found

    def _in_turn(self, frame: Frame) -> Value:
        parts: list[tuple[Any, pa.Array]] = []
        rows = np.arange(frame.length)
        inner = frame
        for condition, result in zip(self.conditions, self.results, strict=True):
            if not len(rows):
                break
            mask = truth(condition, inner)
            taken = np.flatnonzero(mask)
            if len(taken) == len(rows):
                parts.append((rows, result.array(inner)))
                rows = rows[:0]
            elif len(taken):
                parts.append((rows[taken], result.array(inner.part(taken))))
                left = np.flatnonzero(~mask)
                rows, inner = rows[left], inner.part(left)
        if len(rows):
            parts.append((rows, self.otherwise.array(inner)))
        return _merged(parts, frame.length, self.type)


def _merged(parts: Sequence[tuple[Any, pa.Array]], length: int, data_type: DataType) -> pa.Array:
    """One column of values that are computed for some of its rows each."""
    if not parts:
        return pa.nulls(0, arrow_type(data_type))
    if len(parts) == 1:
        return parts[0][1]
    order = np.empty(length, np.int64)
    order[np.concatenate([rows for rows, _ in parts])] = np.arange(length)
    return pa.concat_arrays([a for _, a in parts]).take(pa.array(order))


class _Logic(Node):
    """AND and OR: an operand is evaluated where those before it have not decided."""

    __slots__ = ("decisive", "kernel", "operands")

    def __init__(self, number: int, data_type: DataType, operands: Sequence[Node], conjunction: bool) -> None:
        super().__init__(number, data_type, all(o.total for o in operands))
        self.operands = operands
        self.decisive = not conjunction
        self.kernel = pc.and_kleene if conjunction else pc.or_kleene

    def compute(self, frame: Frame) -> Value:
        found = self.operands[0].value(frame)
        for operand in self.operands[1:]:
            if operand.total:
                found = self.kernel(found, operand.value(frame))
            else:
                found = self._where_open(found, operand, frame)
        return found

    def _where_open(self, found: Value, operand: Node, frame: Frame) -> Value:
        if isinstance(found, pa.Scalar):
            return found if found.as_py() is self.decisive else self.kernel(found, operand.value(frame))
        decided = pc.fill_null(pc.equal(found, self.decisive), False).to_numpy(zero_copy_only=False)
        left = np.flatnonzero(~decided)
        if len(left) == frame.length:
            return self.kernel(found, operand.value(frame))
        if not len(left):
            return found
        more = self.kernel(found.take(pa.array(left)), operand.array(frame.part(left)))
        return _merged(
            [
                (np.flatnonzero(decided), pa.array(np.full(frame.length - len(left), self.decisive))),
                (left, more),
            ],
            frame.length,
            self.type,
        )


class _Coalesce(Node):
    __slots__ = ("operands",)

    def __init__(self, number: int, data_type: DataType, operands: Sequence[Node]) -> None:
        super().__init__(number, data_type, all(o.total for o in operands))
        self.operands = operands

    def compute(self, frame: Frame) -> Value:
        found = self.operands[0].value(frame)
        for operand in self.operands[1:]:
            if isinstance(found, pa.Scalar):
                if found.is_valid:
                    return found
                found = operand.value(frame)
            elif found.null_count and operand.total:
                found = pc.coalesce(found, operand.value(frame))
            elif found.null_count:
                found = self._filled(found, operand, frame)
        return found

    def _filled(self, found: pa.Array, operand: Node, frame: Frame) -> pa.Array:
        empty = found.is_null().to_numpy(zero_copy_only=False)
        rows, kept = np.flatnonzero(empty), np.flatnonzero(~empty)
        parts = [(kept, found.take(pa.array(kept))), (rows, operand.array(frame.part(rows)))]
        return _merged(parts, frame.length, self.type)


_Special = Callable[[int, DataType, Sequence[Node]], Node]
SPECIAL: Final[dict[str, _Special]] = {
    "CASE": _Case,
    "COALESCE": _Coalesce,
    "AND": lambda n, d, o: _Logic(n, d, o, True),
    "OR": lambda n, d, o: _Logic(n, d, o, False),
}
