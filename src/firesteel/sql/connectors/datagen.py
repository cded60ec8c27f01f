"""``datagen``: rows of random values and sequences, made as columns. The same number of a row gives the same
row."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from firesteel.common.columns import Columns
from firesteel.connectors.generated.datagen import GeneratedSource, RatedReader
from firesteel.program.sources import Boundedness, Chunk, PollingReader, ReadRange, SourceReader
from firesteel.program.transformations import SourceTransformation
from firesteel.sql import physical as p, types as t
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.generated_fields import (
    Field,
    Numbers,
    array,
    decimal,
    flag,
    map_,
    mixed,
    past,
    real,
    row,
    sequence,
    sometimes_null,
    text as text_of,
    whole,
)
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

_INTEGERS: Final = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_FLOATS: Final = {t.FloatType: 3.4028234663852886e38, t.DoubleType: 1.7976931348623157e308}
_SEQUENCES: Final = (
    *_INTEGERS,
    *_FLOATS,
    *(t.DecimalType, t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType),
)
_BYTES: Final = 8  # of a number of a sequence
_MONTHS: Final = 120_000  # ten thousand years
_CHUNK: Final = 8192
_ROW_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers of rows -> columns."""

    fields: tuple[Field, ...]
    seed: int

    def __call__(self, indexes: Numbers) -> Columns:
        bits = indexes + np.uint64(self.seed)
        arrays = []
        for field in self.fields:
            bits = mixed(bits)
            arrays.append(field(bits, indexes))
        return Columns(arrays, len(indexes))


class ColumnsOfNumbers(SourceReader):
    """A position is the number of rows that were read of a split."""

    def __init__(self, rows: Rows, micro_rate: int | None) -> None:
        self._rows = rows
        self._micro_rate = micro_rate
        self.polls = micro_rate is not None

    def polling(self) -> PollingReader:
        assert self._micro_rate is not None
        return RatedReader(self, self._micro_rate)

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
        return ColumnsOfNumbers(getattr(rows, "function", rows), self.micro_rate)

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


# ---- options

_OWN: Final = ("kind", "min", "max", "start", "end", "length", "max-past", "null-rate", "var-len")


def _columns(context: TableContext) -> list[Any]:
    return [c for c in context.schema.source_columns if c.kind.name == "PHYSICAL"]


def _field_options(name: str, data_type: t.DataType, *, nested: bool = False) -> Iterator[Option]:
    """The options of a field and of what is in it. :param nested: it is in another one, so it is random."""
    prefix = f"fields.{name}."
    if not nested:
        yield word(prefix + "kind", ("random", "sequence"), "random")
        yield integer(prefix + "start")
        yield integer(prefix + "end")
    yield text(prefix + "min")
    yield text(prefix + "max")
    yield integer(prefix + "length")
    yield duration(prefix + "max-past", 0)
    yield number(prefix + "null-rate", 0.0)
    yield boolean(prefix + "var-len", False)
    for inner, inner_type in _inner_fields(name, data_type):
        yield from _field_options(inner, inner_type, nested=True)


def _inner_fields(name: str, data_type: t.DataType) -> list[tuple[str, t.DataType]]:
    match data_type:
        case t.RowType():
            return [(f"{name}.{f.name}", f.data_type) for f in data_type.fields]
        case t.ArrayType() | t.MultisetType():
            return [(f"{name}.element", data_type.element_type)]
        case t.MapType():
            return [(f"{name}.key", data_type.key_type), (f"{name}.value", data_type.value_type)]
    return []


def create(context: TableContext) -> _Scan:
    """The source of a datagen table."""
    columns = _columns(context)
    of_fields = [option for c in columns for option in _field_options(c.name, c.data_type)]
    known = [*CONNECTOR.every_option, *of_fields]
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
        fields.append(field)
    rows = Rows(tuple(fields), random.getrandbits(63))
    # Its reader gives the function whole columns of numbers.
    source = DatagenSource(rows, min(counts) if counts else None, rate)  # type: ignore[arg-type]
    return _Scan(source, options["scan.parallelism"])


def _field(options: TableOptions, name: str, data_type: t.DataType) -> tuple[Field, int | None]:
    """The field, and how many rows it has; None: there is no end of them."""
    if options[f"fields.{name}.kind"] == "random":
        return _random_field(options, name, data_type), None
    made, count = _sequence_field(options, f"fields.{name}.", name, data_type)
    return sometimes_null(made, options[f"fields.{name}.null-rate"]), count


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
    if not isinstance(data_type, _SEQUENCES):
        raise TableException(f"Unsupported type for sequence generator: {data_type}.", detail=f"field {name}")
    bits = _INTEGERS.get(type(data_type))
    if bits is not None and not -(1 << bits - 1) <= start <= end < 1 << bits - 1:
        raise options.error(prefix + "end", f"{start} to {end} do not fit {data_type}")
    if isinstance(data_type, t.BinaryType | t.VarBinaryType):
        fixed = isinstance(data_type, t.BinaryType)
        if data_type.length < _BYTES or (fixed and data_type.length != _BYTES):
            raise options.error(prefix + "kind", f"a number of a sequence has {_BYTES} bytes: {data_type}")
    return sequence(start, data_type), end - start + 1


def _random_field(options: TableOptions, name: str, data_type: t.DataType) -> Field:
    prefix = f"fields.{name}."
    _allow(options, prefix, _random_options(data_type), f"a random {data_type}")
    inner = [_random_field(options, *found) for found in _inner_fields(name, data_type)]
    return sometimes_null(_random_values(options, prefix, data_type, inner), options[prefix + "null-rate"])


def _random_values(
    options: TableOptions, prefix: str, data_type: t.DataType, inner: Sequence[Field]
) -> Field:
    """:param inner: the fields of what is in it."""
    kind = type(data_type)
    found: Any = data_type
    if kind in _INTEGERS:
        limit = 1 << _INTEGERS[kind] - 1
        return whole(*_bounds(options, prefix, int, -limit, limit - 1), data_type)
    if kind is t.YearMonthIntervalType:
        return whole(*_bounds(options, prefix, int, 0, _MONTHS), data_type)
    if kind is t.DayTimeIntervalType:
        return whole(*_bounds(options, prefix, int, -(2**63), 2**63 - 1), data_type)
    if kind in _FLOATS:
        return real(*_bounds(options, prefix, float, -_FLOATS[kind], _FLOATS[kind]), data_type)
    if kind is t.DecimalType:
        largest = float(10 ** (found.precision - found.scale)) * 0.999999
        return decimal(found, *_bounds(options, prefix, float, -largest, largest))
    if kind is t.BooleanType:
        return flag
    if kind in (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType):
        length = _text_length(options, prefix, found)
        return text_of(length, options[prefix + "var-len"], kind in (t.BinaryType, t.VarBinaryType))
    if kind in (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType):
        import time

        return past(data_type, options[prefix + "max-past"], time.time_ns() // 1_000_000)
    if kind is t.RowType:
        return row(found, tuple(inner))
    if kind is t.ArrayType:
        return array(found, _collection_length(options, prefix), inner[0])
    if kind in (t.MapType, t.MultisetType):
        of_key = prefix + ("key" if kind is t.MapType else "element") + ".null-rate"
        if options[of_key]:
            raise options.error(of_key, f"what a {data_type} has by its key is never NULL")
        value = inner[1] if kind is t.MapType else whole(1, 10, t.IntType())
        return map_(found, _collection_length(options, prefix), inner[0], value)
    raise TableException(
        f"Unsupported type for random generator: {data_type}.",
        detail=f"field {prefix.removeprefix('fields.').rstrip('.')}",
    )


def _text_length(options: TableOptions, prefix: str, data_type: Any) -> int:
    default = data_type.length if data_type.length < t.MAX_LENGTH else 100
    length: int = options.get(prefix + "length", default)
    if length < 1:
        raise options.error(prefix + "length", f"{length}: it must be at least 1")
    if isinstance(data_type, t.CharType | t.BinaryType) and length != data_type.length:
        raise options.error(prefix + "length", f"{length}: the length of {data_type} is fixed")
    if length > data_type.length:
        raise options.error(
            prefix + "length", f"{length}: a {data_type} is not longer than {data_type.length}"
        )
    return length


def _collection_length(options: TableOptions, prefix: str) -> int:
    length: int = options.get(prefix + "length", 3)
    if length < 0:
        raise options.error(prefix + "length", f"{length}: it must not be negative")
    return length


def _random_options(data_type: t.DataType) -> tuple[str, ...]:
    """The options of a field of random values, beside those that each field has."""
    match data_type:
        case t.CharType() | t.BinaryType():
            return "length", "null-rate"
        case t.VarCharType() | t.VarBinaryType():
            return "length", "var-len", "null-rate"
        case t.DateType() | t.TimeType() | t.TimestampType() | t.LocalZonedTimestampType():
            return "max-past", "null-rate"
        case t.ArrayType() | t.MapType() | t.MultisetType():
            return "length", "null-rate"
        case t.BooleanType() | t.RowType():
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
