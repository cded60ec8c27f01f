"""Aggregates that see row by row: those whose accumulator is a list or a dictionary, and those of users.

The accumulator is one object for each key. The result after a row is made at once, for the object goes on
changing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import pyarrow as pa

from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.sql import types as t
from firesteel.sql.functions.json_making import to_json
from firesteel.sql.json_text import Raw, parse, text_of
from firesteel.sql.operators.kernels.base import Arguments, Fields, Kernel, KernelCall, kernel
from firesteel.sql.operators.kernels.numbers import objects
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.objects import column_of_results, objects_of
from firesteel.sql.operators.row_state import Field
from firesteel.sql.values import array_of, physical, values_of

__all__ = ["LoopKernel", "UserKernel"]


class LoopKernel(Kernel):
    """The second field has the result after the row."""

    fields = (Field("object", None), Field("object", None))
    #: Whether a row in which the first argument is null is passed over.
    skips_null: ClassVar[bool] = True
    #: Whether a value can be retracted from an accumulator to which it was not added.
    owes: ClassVar[bool] = False

    @property
    def merges_parts(self) -> bool:
        adds = type(self).add is not LoopKernel.add
        return adds and (self.owes or not self.what.retracts)

    def create(self) -> Any:
        raise NotImplementedError

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        """Add a row; returns the accumulator, which may be another object."""
        raise NotImplementedError

    def retract(self, accumulator: Any, *values: Any) -> Any:
        raise NotImplementedError

    def add(self, first: Any, second: Any) -> Any:
        """Merge two accumulators."""
        raise NotImplementedError

    def value(self, accumulator: Any) -> Any:
        raise NotImplementedError

    def read(self, arguments: Arguments) -> list[list[Any]]:
        return [values_of(a, d) for a, d in zip(arguments, self.what.types, strict=True)]

    def _run(
        self,
        arguments: Arguments,
        weights: Array | None,
        segments: Segments,
        base: Fields,
        after_row: Callable[[Any], None] | None,
    ) -> list[Any]:
        """Add all rows; the accumulator of each segment."""
        count = segments.count
        rows = list(zip(*self.read(arguments), strict=True)) if arguments else [()] * count
        weighted = None if weights is None else weights.tolist()
        skips = self.skips_null and bool(arguments)
        done = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            accumulator = base[0][i]
            if accumulator is None:
                accumulator = self.create()
            for row in range(start, stop):
                values = rows[row]
                weight = 1 if weighted is None else weighted[row]
                if weight and not (skips and values[0] is None):
                    step = self.accumulate if weight > 0 else self.retract
                    accumulator = step(accumulator, *values)
                if after_row is not None:
                    after_row(accumulator)
            done.append(accumulator)
        return done

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        results: list[Any] = []
        done = self._run(arguments, weights, segments, base, lambda a: results.append(self.value(a)))
        accumulators = objects(done)
        return [accumulators[segments.index], objects(results)]

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        done = self._run(arguments, weights, segments, base, None)
        return [objects(done), objects([self.value(a) for a in done])]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        merged = [
            b if a is None else a if b is None else self.add(a, b)
            for a, b in zip(first[0].tolist(), second[0].tolist(), strict=True)
        ]
        return [objects(merged), objects([None if a is None else self.value(a) for a in merged])]

    def values(self, fields: Fields) -> pa.Array:
        return array_of(self._results(fields), self.result)

    def _results(self, fields: Fields) -> list[Any]:
        empty = self.value(self.create())
        return [
            empty if a is None else v for a, v in zip(fields[0].tolist(), fields[1].tolist(), strict=True)
        ]


def _remove(values: list[Any], value: Any) -> list[Any]:
    if value in values:
        values.remove(value)
    return values


@kernel("LISTAGG")
class ListAggregate(LoopKernel):
    """Text, joined by a separator that is a literal or the second argument. Retracting takes the first equal
    one away."""

    def __init__(self, what: KernelCall) -> None:
        super().__init__(what)
        literals = what.call.literals
        self._separator = str(literals[0].value) if literals and literals[0].value is not None else ","

    def create(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        if len(values) > 1 and values[1] is not None:
            self._separator = values[1]
        accumulator.append(values[0])
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return _remove(accumulator, values[0])

    def add(self, first: Any, second: Any) -> Any:
        return first + second

    def value(self, accumulator: Any) -> Any:
        return self._separator.join(accumulator) if accumulator else None


@kernel("COLLECT")
class Collect(LoopKernel):
    """A multiset; null when there is none."""

    owes = True

    def create(self) -> Any:
        return {}

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        inner = _hashable(values[0])
        held = accumulator.get(inner)
        accumulator[inner] = (values[0], 1) if held is None else (held[0], held[1] + 1)
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        inner = _hashable(values[0])
        held = accumulator.get(inner)
        if held is not None and held[1] == 1:
            del accumulator[inner]
        else:
            accumulator[inner] = (values[0], -1 if held is None else held[1] - 1)
        return accumulator

    def add(self, first: Any, second: Any) -> Any:
        merged = dict(first)
        for inner, (value, count) in second.items():
            merged[inner] = (value, merged.get(inner, (value, 0))[1] + count)
        return merged

    def value(self, accumulator: Any) -> Any:
        return [(value, count) for value, count in accumulator.values()] or None


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


@kernel("ARRAY_AGG")
class ArrayAggregate(LoopKernel):
    """All values, nulls too; null when there is none."""

    def __init__(self, what: KernelCall) -> None:
        super().__init__(what)
        literals = what.call.literals
        self._ignores = bool(literals) and literals[0].value in (True, "IGNORE NULLS")

    skips_null = False

    def create(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        if not (self._ignores and values[0] is None):
            accumulator.append(values[0])
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return _remove(accumulator, values[0])

    def add(self, first: Any, second: Any) -> Any:
        return first + second

    def value(self, accumulator: Any) -> Any:
        return list(accumulator) or None


class _Ordered(LoopKernel):
    """Values in the order in which they came."""

    last = False

    @property
    def merges_parts(self) -> bool:
        return False  # which of two parts came first is not known

    def create(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        if self.what.retracts:
            accumulator.append(values[0])
        elif self.last or not accumulator:
            return [values[0]]
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return _remove(accumulator, values[0])

    def add(self, first: Any, second: Any) -> Any:
        if self.what.retracts:
            return first + second
        chosen = second or first if self.last else first or second
        return list(chosen)

    def value(self, accumulator: Any) -> Any:
        return accumulator[-1 if self.last else 0] if accumulator else None


@kernel("FIRST_VALUE")
class FirstValue(_Ordered):
    """The first value that is not null."""


@kernel("LAST_VALUE")
class LastValue(_Ordered):
    """The last value that is not null."""

    last = True


@kernel("LAG")
class Lag(LoopKernel):
    """The value some rows before: the offset and the default are literals, or the default is the second
    argument."""

    skips_null = False

    def __init__(self, what: KernelCall) -> None:
        super().__init__(what)
        literals = what.call.literals
        self._offset = int(literals[0].value) if literals else 1
        self._default = physical(literals[1].value, what.call.type) if len(literals) > 1 else None

    def create(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        accumulator.append(values[0])
        if len(accumulator) > self._offset + 1:
            del accumulator[0]
        if len(values) > 1:
            self._default = values[1]
        return accumulator

    def value(self, accumulator: Any) -> Any:
        return accumulator[0] if len(accumulator) > self._offset else self._default


@kernel("SINGLE_VALUE")
class SingleValue(LoopKernel):
    """The only row of a scalar sub-query."""

    skips_null = False

    def create(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        if accumulator:
            raise TypeMismatchError("SingleValueAggFunction received more than one element.")
        return [values[0]]

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return accumulator[1:]

    def add(self, first: Any, second: Any) -> Any:
        if first and second:
            raise TypeMismatchError("SingleValueAggFunction received more than one element.")
        return first or second

    def value(self, accumulator: Any) -> Any:
        return accumulator[0] if accumulator else None


@kernel("LITERAL_AGG")
class LiteralAggregate(LoopKernel):
    """A literal, where there is a row."""

    skips_null = False
    owes = True

    def create(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return accumulator

    retract = accumulate

    def add(self, first: Any, second: Any) -> Any:
        return first

    def value(self, accumulator: Any) -> Any:
        return self.what.call.literals[0].value


@kernel("APPROX_COUNT_DISTINCT")
class DistinctCount(LoopKernel):
    """How many different values there are, to one."""

    def create(self) -> Any:
        return set()

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        accumulator.add(_hashable(values[0]))
        return accumulator

    def add(self, first: Any, second: Any) -> Any:
        return first | second

    def value(self, accumulator: Any) -> Any:
        return len(accumulator)


@kernel("PERCENTILE")
class Percentile(LoopKernel):
    """Between the two values around each share, of values of which each counts as often as its frequency
    says. The shares and the frequency are literals, or columns."""

    def __init__(self, what: KernelCall) -> None:
        super().__init__(what)
        literals = what.call.literals
        self._listed = isinstance(what.call.type, t.ArrayType)
        shares = [x for x in literals if isinstance(x.type, t.DoubleType | t.ArrayType)]
        counts = [x for x in literals if not isinstance(x.type, t.DoubleType | t.ArrayType)]
        self._shares: Any = shares[0].value if shares else None
        self._share_is_column = not shares
        self._count: Any = counts[0].value if counts else 1

    def create(self) -> Any:
        return {}

    def _step(self, accumulator: Any, values: Any, sign: int) -> Any:
        rest = list(values[1:])
        if self._share_is_column:
            self._shares = rest.pop(0)
        count = rest.pop(0) if rest else self._count
        if count is not None and count > 0:
            left = accumulator.get(values[0], 0) + sign * count
            if left:
                accumulator[values[0]] = left
            else:
                del accumulator[values[0]]
        return accumulator

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return self._step(accumulator, values, 1)

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return self._step(accumulator, values, -1)

    def add(self, first: Any, second: Any) -> Any:
        merged = dict(first)
        for value, count in second.items():
            merged[value] = merged.get(value, 0) + count
        return merged

    def value(self, accumulator: Any) -> Any:
        held = sorted((value, count) for value, count in accumulator.items() if count > 0)
        if not held or self._shares is None or self._shares == []:
            return None
        limits = list(accumulate(count for _, count in held))
        if not self._listed:
            return _percentile(held, limits, self._shares)
        return [None if share is None else _percentile(held, limits, share) for share in self._shares]


def _percentile(held: list[tuple[Any, int]], limits: list[int], share: float) -> float:
    """:param held: values and how often, in order. :param limits: how many there are up to each."""
    if not 0 <= share <= 1:
        raise TypeMismatchError(f"Percentage of PERCENTILE should be between [0.0, 1.0], but was {share}.")
    place = share * (limits[-1] - 1) + 1  # from 1, as in Flink: the last digits of results depend on it
    low = int(place)
    below = float(held[bisect_left(limits, low)][0])
    if place == low:
        return below
    above = float(held[bisect_left(limits, low + 1)][0])
    return (low + 1 - place) * below + (place - low) * above


class _Json(LoopKernel):
    """``NULL`` or ``ABSENT`` ON NULL is a literal; so is a value that is the same for all rows, and ``RAW``:
    values are JSON already."""

    skips_null = False
    absent = False

    def __init__(self, what: KernelCall) -> None:
        super().__init__(what)
        clauses = [x.value for x in what.call.literals if isinstance(x.type, t.SymbolType)]
        self._raw = "RAW" in clauses
        if "NULL" in clauses or "ABSENT" in clauses:
            self.absent = "ABSENT" in clauses
        self._constants = [x for x in what.call.literals if not isinstance(x.type, t.SymbolType)]

    def create(self) -> Any:
        return []

    def add(self, first: Any, second: Any) -> Any:
        return first + second

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return _remove(accumulator, values)

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        accumulator.append(values)
        return accumulator

    def json(self, position: int, values: Any) -> Any:
        """An argument of a row as JSON."""
        if position < len(values):
            if self._raw and values[position] is not None:
                return Raw(text_of(parse(values[position])))
            return to_json(values[position], self.what.types[position])
        constant = self._constants[position - len(values)]
        return to_json(physical(constant.value, constant.type), constant.type)


@kernel("JSON_OBJECTAGG")
class JsonObject(_Json):
    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        if values[0] is None:
            raise TypeMismatchError(
                "A key of JSON_OBJECTAGG is NULL.", hint="filter such rows: WHERE key IS NOT NULL"
            )
        return super().accumulate(accumulator, *values)

    def value(self, accumulator: Any) -> Any:
        pairs = {values[0]: self.json(1, values) for values in accumulator}
        if len(pairs) < len(accumulator):
            keys = [values[0] for values in accumulator]
            twice = next(k for k in keys if keys.count(k) > 1)
            raise TypeMismatchError(
                f"Key '{twice}' is already present. Duplicate keys are not allowed in JSON_OBJECTAGG. "
                "Please ensure that keys are unique."
            )
        return text_of({k: pairs[k] for k in sorted(pairs) if not (self.absent and pairs[k] is None)})


@kernel("JSON_ARRAYAGG")
class JsonArray(_Json):
    absent = True

    def value(self, accumulator: Any) -> Any:
        items = [self.json(0, values) for values in accumulator]
        return text_of([v for v in items if not (self.absent and v is None)])


class UserKernel(LoopKernel):
    """An aggregate function of the user's: ``create_accumulator``, ``accumulate``, ``retract``, ``merge``,
    ``get_value``."""

    skips_null = False
    owes = True  # it may get a retraction first in Flink, too

    def __init__(self, what: KernelCall, function: Any) -> None:
        super().__init__(what)
        typed = getattr(function, "typed", None)
        self.function = function if typed is None else typed(what.types)
        if what.retracts and not _has(function, "retract"):
            raise ProgramError(
                f"The aggregate function {what.call.function!r} gets retractions and has no retract().",
                hint="implement retract(accumulator, *args), or aggregate a stream of insertions",
            )

    @property
    def merges_parts(self) -> bool:
        return _has(self.function, "merge")

    def read(self, arguments: Arguments) -> list[list[Any]]:
        return [objects_of(a, d) for a, d in zip(arguments, self.what.types, strict=True)]

    def create(self) -> Any:
        return self.function.create_accumulator()

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        self.function.accumulate(accumulator, *values)
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        self.function.retract(accumulator, *values)
        return accumulator

    def add(self, first: Any, second: Any) -> Any:
        self.function.merge(first, [second])
        return first

    def value(self, accumulator: Any) -> Any:
        return self.function.get_value(accumulator)

    def values(self, fields: Fields) -> pa.Array:
        return column_of_results(self._results(fields), self.result)


def _has(function: Any, name: str) -> bool:
    """Whether a function has a method; who wraps one says what the user has implemented."""
    implements = getattr(function, "implements", None)
    return getattr(type(function), name, None) is not None if implements is None else bool(implements(name))


def of_user(what: KernelCall, function: Any) -> Kernel:
    return UserKernel(what, function)


def unknown(what: KernelCall, known: Sequence[str]) -> ProgramError:
    return ProgramError(
        f"There is no aggregate {what.call.function}.", detail=f"known are {', '.join(sorted(known))}"
    )
