"""MIN and MAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.operators.kernels.base import Arguments, Fields, Kernel, KernelCall, kernel, valid_rows
from firesteel.sql.operators.kernels.numbers import from_numbers, number_field, numbers, objects
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.map_state import MapsColumn, maps_state
from firesteel.sql.operators.row_state import Field
from firesteel.sql.values import array_of, values_of
from firesteel.state.columns import CanonicalKey

__all__ = ["extreme"]


@kernel("MIN", "MAX")
def extreme(what: KernelCall) -> Kernel:
    kind = type(what.types[0])
    largest = what.call.function.upper() == "MAX"
    if what.retracts:
        return RetractedExtreme(what, largest)
    if kind in (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType):
        return TextExtreme(what, largest)
    return NumberExtreme(what, largest)


class _Extreme(Kernel):
    counts_duplicates = False

    def __init__(self, what: KernelCall, largest: bool) -> None:
        super().__init__(what)
        self.largest = largest
        self.operation: np.ufunc = np.maximum if largest else np.minimum


class NumberExtreme(_Extreme):
    """Of numbers, dates, times and DECIMAL (unscaled, as Python's integers)."""

    def __init__(self, what: KernelCall, largest: bool) -> None:
        super().__init__(what, largest)
        dtype = number_field(what.types[0])
        self.fields = (Field(dtype), Field("bool", False))
        low: Any = -(2**63) if dtype != "object" else -(10**39)
        high: Any = 2**63 - 1 if dtype != "object" else 10**39
        if dtype.startswith("float"):
            low, high = -np.inf, np.inf
        self._worst = low if largest else high

    def _prepared(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> tuple[Array, Array]:
        counted = valid_rows(arguments[0], weights, segments.count) > 0
        found = numbers(arguments[0]).astype(base[0].dtype)  # a copy
        found[~counted] = self._worst
        starts = segments.starts
        before = base[0].copy()
        before[~base[1]] = self._worst
        found[starts] = self.operation(found[starts], before)
        counted[starts] |= base[1]
        return found, counted

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        found, counted = self._prepared(arguments, weights, segments, base)
        present = counted if counted.all() else segments.scan(np.logical_or, counted)
        return [segments.scan(self.operation, found), present]

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        found, counted = self._prepared(arguments, weights, segments, base)
        return [segments.fold(self.operation, found), segments.fold(np.logical_or, counted)]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        merged = self.operation(first[0], second[0])
        merged[~first[1]] = second[0][~first[1]]
        merged[~second[1]] = first[0][~second[1]]
        return [merged, first[1] | second[1]]

    def values(self, fields: Fields) -> pa.Array:
        found, present = fields[0], fields[1].astype(bool)
        if not present.all():
            found = found.copy()
            found[~present] = 0
        return from_numbers(found, present, self.result)


class TextExtreme(_Extreme):
    """Of text and bytes, in the order of their bytes."""

    fields = (Field("object", None, packs=True),)

    def _ranked(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> tuple[Array, Array]:
        """A number for each row in the order of the texts, and the texts by number; the last stands for
        none."""
        array = arguments[0]
        every = pa.concat_arrays([array, pa.array(base[0].tolist(), array.type)])
        encoded = every.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary).to_numpy()
        none = len(order)
        worst = -1 if self.largest else none
        ranks = np.empty(none + 1, np.int64)
        ranks[order] = np.arange(none)
        ranks[none] = worst
        numbered = ranks[encoded.indices.fill_null(none).to_numpy(zero_copy_only=False)]
        found, before = numbered[: segments.count].copy(), numbered[segments.count :]
        if weights is not None:
            found[weights <= 0] = worst
        found[segments.starts] = self.operation(found[segments.starts], before)
        return found, objects([*encoded.dictionary.take(pa.array(order)).to_pylist(), None])

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        found, texts = self._ranked(arguments, weights, segments, base)
        return [texts[segments.scan(self.operation, found)]]

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        found, texts = self._ranked(arguments, weights, segments, base)
        return [texts[segments.fold(self.operation, found)]]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        better = max if self.largest else min
        merged = [
            b if a is None else a if b is None else better(a, b, key=_bytes)
            for a, b in zip(first[0].tolist(), second[0].tolist(), strict=True)
        ]
        return [objects(merged)]

    def values(self, fields: Fields) -> pa.Array:
        return array_of(fields[0].tolist(), self.result)


def _bytes(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


class RetractedExtreme(_Extreme):
    """The values of each key with their counts, beside the extreme itself."""

    fields = (Field("object", None),)
    merges = False
    takes_counts = True
    _counts: MapsColumn

    def open(self, state: Any, name: str, ttl_ms: int) -> None:
        self._counts = maps_state(state, f"{name}/values", ttl_ms=ttl_ms)

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        found = values_of(arguments[0], self.what.types[0])
        counted = valid_rows(arguments[0], weights, segments.count).tolist()
        out: list[Any] = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            rows = zip(found[start:stop], counted[start:stop], strict=True)
            out += self._scan_key(segments.names[i], segments.keys[i], rows, base[0][i])
        return [objects(out)]

    def _scan_key(self, name: Any, key: CanonicalKey, rows: Any, now: Any) -> list[Any]:
        """The extreme after each row of a key."""
        held = self._counts
        counts = held.of(name, key)
        better = max if self.largest else min
        out = []
        for value, weight in rows:
            if weight:
                inner = value if isinstance(value, (int, str, bytes)) else repr(value)
                known = counts.get(inner)
                count = weight if known is None else known[0] + weight
                if count:
                    held.put(name, inner, (count, value))
                elif known is not None:
                    held.remove(name, inner)
                if count > 0 and weight > 0:
                    now = value if now is None else better(now, value)
                elif count <= 0 and value == now:
                    now = better((v for n, v in counts.values() if n > 0), default=None)
            out.append(now)
        return out

    def values(self, fields: Fields) -> pa.Array:
        return array_of(fields[0].tolist(), self.result)

    def clear(self, name: Any, key: CanonicalKey) -> None:
        self._counts.clear(name, key)
