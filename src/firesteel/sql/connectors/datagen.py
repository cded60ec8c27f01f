"""``datagen``: rows of random values and sequences, made as columns. The same number of a row gives the same
row."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.program.sources import Boundedness, Chunk, ReadRange, SourceReader
from firesteel.program.transformations import SourceTransformation
from firesteel.sql import physical as p, types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.options import (
    Option,
    TableOptions,
    boolean,
    duration,
    integer,
    number,
    text,
    word,
)
from firesteel.sql.operators.borders import columns_type
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTOR"]

Numbers = np.ndarray[Any, np.dtype[np.uint64]]
Field = Callable[[Numbers, Numbers], pa.Array]  # random bits and numbers of rows -> a column

_INTEGERS: Final = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_FLOATS: Final = {t.FloatType: 3.4028234663852886e38, t.DoubleType: 1.7976931348623157e308}
_CHUNK: Final = 8192
_ROW_BYTES: Final = 64
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)


def mixed(bits: Numbers) -> Numbers:
    """Well-mixed bits (splitmix64)."""
    with np.errstate(over="ignore"):
        z = bits + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers of rows -> columns."""

    fields: tuple[tuple[Field, float], ...]
    seed: int

    def __call__(self, indexes: Numbers) -> Columns:
        bits = indexes + np.uint64(self.seed)
        arrays = []
        for field, null_rate in self.fields:
            bits = mixed(bits)
            array = field(bits, indexes)
            if null_rate:
                share = (mixed(bits ^ np.uint64(0x5DEECE66D)) >> np.uint64(11)) * (1.0 / 2**53)
                array = pa.compute.if_else(pa.array(share < null_rate), pa.scalar(None, array.type), array)
            arrays.append(array)
        return Columns(arrays, len(indexes))


class ColumnsOfNumbers(SourceReader):
    """A position is the number of rows that were read of a split."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        split: Any = range_.split.payload
        position = range_.position or 0
        count = split.count
        stop = position + min(range_.max_records, max(1, range_.max_bytes // _ROW_BYTES))
        stop = stop if count is None else min(stop, count)
        while position < stop:
            end = min(position + _CHUNK, stop)
            numbers = np.arange(position, end, dtype=np.uint64) * np.uint64(split.step) + np.uint64(
                split.first
            )
            values: Any = self._rows(numbers)
            position = end
            yield Chunk(values, None, position, position == count)
        if count is not None and (range_.position or 0) >= count:
            yield Chunk([], None, count, True)


@dataclass(frozen=True, slots=True)
class DatagenSource(GeneratedSource):
    """The source of a datagen table."""

    def create_reader(self) -> SourceReader:
        rows: Any = self.function
        return ColumnsOfNumbers(getattr(rows, "function", rows))

    @property
    def description(self) -> str:
        return "datagen"


@dataclass(frozen=True, slots=True)
class _Scan:
    source: DatagenSource
    parallelism: int | None
    changelog_mode: frozenset[str] = frozenset(("+I",))

    @property
    def bounded(self) -> bool:
        return self.source.boundedness is Boundedness.BOUNDED

    def build(self, run: Any, node: p.TableSourceScan) -> Any:
        rows: Any = self.source.function
        every: Rows = getattr(rows, "function", rows)
        chosen: Any = Rows(tuple(every.fields[c] for c in node.columns), every.seed)
        made = SourceTransformation(
            name=f"Source: {node.table.name.rpartition('.')[2]}",
            source=DatagenSource(chosen, self.source.count, self.source.rate_per_second),
            output_type=columns_type(node.row),
            parallelism=self.parallelism,
        )
        return run.add(made, node)


# ---- fields


def _whole(low: int, high: int, data_type: t.DataType) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        span = high - low + 1
        if span >= 2**64:
            values = bits.view(np.int64)
        else:
            with np.errstate(over="ignore"):
                values = (bits % np.uint64(span) + np.uint64(low % 2**64)).view(np.int64)
        return pa.array(values).cast(arrow_type(data_type), safe=False)

    return field


def _real(low: float, high: float, data_type: t.DataType) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        share = (bits >> np.uint64(11)) * (1.0 / 2**53)
        values = low * (1 - share) + high * share
        return pa.array(values.astype(np.float32 if isinstance(data_type, t.FloatType) else np.float64))

    return field


def _decimal(data_type: t.DecimalType, low: float, high: float) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        share = (bits >> np.uint64(11)) * (1.0 / 2**53)
        values = low * (1 - share) + high * share
        return pa.array(values).cast(arrow_type(data_type), safe=False)

    return field


def _text(length: int, varying: bool, binary: bool) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        blocks = (length + 15) // 16
        digits = np.empty((len(bits), blocks * 16), np.uint8)
        current = bits
        for block in range(blocks):
            for place in range(16):
                nibble = (current >> np.uint64(4 * place)) & np.uint64(15)
                digits[:, block * 16 + place] = _HEX[nibble.astype(np.int64)]
            current = mixed(current)
        sizes = (
            (mixed(bits) % np.uint64(length)).astype(np.int64) + 1 if varying else np.full(len(bits), length)
        )
        made = [row[:n].tobytes() for row, n in zip(digits, sizes, strict=True)]
        return pa.array(made, pa.binary()) if binary else pa.array([m.decode() for m in made], pa.string())

    return field


def _flag(bits: Numbers, _: Numbers) -> pa.Array:
    return pa.array((bits & np.uint64(1)).astype(bool))


def _past(data_type: t.DataType, max_past_ms: int, now_ms: int) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        past = bits % np.uint64(max_past_ms + 1) if max_past_ms else np.zeros(len(bits), np.uint64)
        millis = now_ms - past.astype(np.int64)
        if isinstance(data_type, t.DateType):
            return pa.array((millis // 86_400_000).astype(np.int32)).cast(pa.date32())
        if isinstance(data_type, t.TimeType):
            return pa.array((millis % 86_400_000).astype(np.int32)).cast(pa.time32("ms"))
        return pa.array(millis, pa.timestamp("ms")).cast(arrow_type(data_type))

    return field


def _sequence(start: int, data_type: t.DataType) -> Field:
    def field(_: Numbers, numbers: Numbers) -> pa.Array:
        values = pa.array(numbers.astype(np.int64) + start)
        return values.cast(arrow_type(data_type))

    return field


def _row(data_type: t.RowType, fields: tuple[Field, ...]) -> Field:
    def field(bits: Numbers, numbers: Numbers) -> pa.Array:
        arrays = []
        for inner in fields:
            bits = mixed(bits)
            arrays.append(inner(bits, numbers))
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(data_type)))

    return field


def _array(data_type: t.ArrayType, length: int, inner: Field) -> Field:
    def field(bits: Numbers, numbers: Numbers) -> pa.Array:
        every = mixed(np.repeat(bits, length) + np.tile(np.arange(length, dtype=np.uint64), len(bits)))
        values = inner(every, np.repeat(numbers, length))
        offsets = pa.array(np.arange(0, len(bits) * length + 1, length, dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, values, type=arrow_type(data_type))

    return field


# ---- options

_OWN: Final = ("kind", "min", "max", "start", "end", "length", "max-past", "null-rate", "var-len")


def _columns(context: TableContext) -> list[Any]:
    return [c for c in context.schema.source_columns if c.kind.name == "PHYSICAL"]


def _field_options(names: list[str]) -> list[Option]:
    made: list[Option] = []
    for name in names:
        prefix = f"fields.{name}."
        made += [
            word(prefix + "kind", ("random", "sequence"), "random"),
            text(prefix + "min"),
            text(prefix + "max"),
            integer(prefix + "start"),
            integer(prefix + "end"),
            integer(prefix + "length"),
            duration(prefix + "max-past", 0),
            number(prefix + "null-rate", 0.0),
            boolean(prefix + "var-len", False),
        ]
    return made


def create(context: TableContext) -> _Scan:
    """The source of a datagen table."""
    columns = _columns(context)
    nested = [
        f"{c.name}.{f.name}"
        for c in columns
        if isinstance(c.data_type, t.RowType)
        for f in c.data_type.fields
    ]
    names = [*(c.name for c in columns), *nested, *(f"{c.name}.element" for c in columns)]
    known = [*CONNECTOR.every_option, *_field_options(names)]
    options = TableOptions.checked("datagen", context.table.name, context.options.given, known)
    rate = options["rows-per-second"]
    if rate < 1:
        raise options.error("rows-per-second", f"{rate}: it must be at least 1")
    count = options["number-of-rows"]
    if count is not None and count < 0:
        raise options.error("number-of-rows", f"{count}: it must not be negative")
    counts = [] if count is None else [count]
    fields = []
    for column in columns:
        field, length = _field(options, column.name, column.data_type)
        counts += [] if length is None else [length]
        fields.append((field, float(options.get(f"fields.{column.name}.null-rate", 0.0))))
    rows = Rows(tuple(fields), random.getrandbits(63))
    source = DatagenSource(rows, min(counts) if counts else None, rate)  # type: ignore[arg-type]
    return _Scan(source, options["scan.parallelism"])


def _field(options: TableOptions, name: str, data_type: t.DataType) -> tuple[Field, int | None]:
    prefix = f"fields.{name}."
    if options.get(prefix + "kind", "random") == "sequence":
        return _sequence_field(options, prefix, name, data_type)
    return _random_field(options, prefix, name, data_type), None


def _sequence_field(
    options: TableOptions, prefix: str, name: str, data_type: t.DataType
) -> tuple[Field, int]:
    _allow(options, prefix, ("start", "end", "null-rate"), "a sequence")
    start, end = options[prefix + "start"], options[prefix + "end"]
    if start is None or end is None:
        raise TableException(
            f"Could not find required property 'fields.{name}.{'start' if start is None else 'end'}' "
            "for sequence generator."
        )
    if end < start:
        raise options.error(
            prefix + "end", f"the sequence of {name} ends before it starts: from {start} to {end}"
        )
    if not isinstance(data_type, (*_INTEGERS, *_FLOATS, t.CharType, t.VarCharType, t.DecimalType)):
        raise TableException(f"Unsupported type for sequence generator: {data_type}.", detail=f"field {name}")
    bits = _INTEGERS.get(type(data_type))
    if bits is not None and not -(1 << bits - 1) <= start <= end < 1 << bits - 1:
        raise options.error(prefix + "end", f"{start} to {end} do not fit {data_type}")
    return _sequence(start, data_type), end - start + 1


def _random_field(options: TableOptions, prefix: str, name: str, data_type: t.DataType) -> Field:
    kind = type(data_type)
    found: Any = data_type
    if kind is not t.RowType:
        _allow(options, prefix, _random_options(data_type), f"a random {data_type}")
    if kind in _INTEGERS:
        limit = 1 << _INTEGERS[kind] - 1
        low, high = _bounds(options, prefix, int, -limit, limit - 1)
        return _whole(low, high, data_type)
    if kind in _FLOATS:
        low, high = _bounds(options, prefix, float, -_FLOATS[kind], _FLOATS[kind])
        return _real(low, high, data_type)
    if kind is t.DecimalType:
        largest = float(10 ** (found.precision - found.scale)) * 0.999999
        low, high = _bounds(options, prefix, float, -largest, largest)
        return _decimal(found, low, high)
    if kind is t.BooleanType:
        return _flag
    if kind in (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType):
        fixed = kind in (t.CharType, t.BinaryType)
        default = found.length if found.length < t.MAX_LENGTH else 100
        length = options.get(prefix + "length", default)
        if length < 1:
            raise options.error(prefix + "length", f"{length}: it must be at least 1")
        if fixed and length != found.length:
            raise options.error(prefix + "length", f"{length}: the length of {data_type} is fixed")
        if length > found.length:
            raise options.error(
                prefix + "length", f"{length}: a {data_type} is not longer than {found.length}"
            )
        return _text(
            length, bool(options.get(prefix + "var-len", False)), kind in (t.BinaryType, t.VarBinaryType)
        )
    if kind in (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType):
        import time

        return _past(data_type, options.get(prefix + "max-past", 0), time.time_ns() // 1_000_000)
    if kind is t.RowType:
        return _row(found, tuple(_field(options, f"{name}.{f.name}", f.data_type)[0] for f in found.fields))
    if kind is t.ArrayType:
        return _array(
            found,
            options.get(prefix + "length", 3),
            _random_field(options, f"fields.{name}.element.", name, found.element_type),
        )
    raise TableException(f"Unsupported type for random generator: {data_type}.", detail=f"field {name}")


def _random_options(data_type: t.DataType) -> tuple[str, ...]:
    """The options of a field of random values, beside those that each field has."""
    match data_type:
        case t.CharType() | t.VarCharType() | t.BinaryType() | t.VarBinaryType():
            return "length", "var-len", "null-rate"
        case t.DateType() | t.TimeType() | t.TimestampType() | t.LocalZonedTimestampType():
            return "max-past", "null-rate"
        case t.ArrayType():
            return "length", "null-rate"
        case t.BooleanType():
            return ("null-rate",)
    return "min", "max", "null-rate"


def _allow(options: TableOptions, prefix: str, allowed: tuple[str, ...], what: str) -> None:
    """Refuse an option that a field does not read.

    :raises TableException: there is one.
    """
    for own in _OWN[1:]:
        if own not in allowed and prefix + own in options:
            raise options.error(
                prefix + own, f"{what} does not have it", f"valid are kind, {', '.join(allowed)}"
            )


def _bounds(
    options: TableOptions, prefix: str, read: Callable[[str], Any], low: Any, high: Any
) -> tuple[Any, Any]:
    found = []
    for key, default in (("min", low), ("max", high)):
        given = options.get(prefix + key)
        try:
            value = default if given is None else read(given)
        except ValueError as error:
            raise options.error(prefix + key, f"{given!r} is no number") from error
        if not low <= value <= high:
            raise options.error(prefix + key, f"{given} is out of range")
        found.append(value)
    if found[0] > found[1]:
        raise options.error(prefix + "max", f"{found[1]} is below the minimum {found[0]}")
    return found[0], found[1]


_TABLE: Final = (integer("rows-per-second", 10_000), integer("number-of-rows"))
CONNECTOR: Final = TableConnector(name="datagen", options=_TABLE, wildcards=("fields.",), scan=create)
