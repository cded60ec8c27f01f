"""The ``datagen`` connector: rows from random values and sequences (Flink: DataGen SQL connector)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import RowTypeInfo, Types
from firesteel.common.types import Row
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.table.schema import Schema
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.types import DataType

TABLE_OPTIONS: Final = ("rows-per-second", "number-of-rows")
FIELD_OPTIONS: Final = ("kind", "min", "max", "start", "end", "length")
_OPTIONS_OF: Final = {"sequence": ("start", "end"), "random": ("min", "max", "length")}
_DEFAULT_RATE: Final = 10_000
_DEFAULT_LENGTH: Final = 100
_MASK: Final = (1 << 64) - 1

_INTEGERS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_FLOATS: Final = {"FLOAT": 3.4028234663852886e38, "DOUBLE": 1.7976931348623157e308}

Field = Callable[[int], Any]  # 64 random bits or the number of the row -> value


@dataclass(frozen=True, slots=True)
class _Rows:
    """Row number -> Row; the same number gives the same row."""

    names: tuple[str, ...]
    fields: tuple[tuple[bool, Field], ...]  # (takes random bits and not the row number, field)
    seed: int

    def __call__(self, index: int) -> Row:
        bits = self.seed + index
        values = []
        for is_random, field in self.fields:
            bits = _mixed(bits)
            values.append(field(bits if is_random else index))
        row = Row(*values)
        row.set_field_names(list(self.names))
        return row


def create(descriptor: TableDescriptor) -> tuple[GeneratedSource, RowTypeInfo]:
    """The source of a datagen table and the type of its rows."""
    options, schema = dict(descriptor.options), descriptor.schema
    _check_names(options, schema)
    rate = _integer(options, "rows-per-second", _DEFAULT_RATE)
    if rate < 1:
        raise ConfigurationError("The option rows-per-second must be at least 1.", detail=f"got {rate}")
    count = _integer(options, "number-of-rows", -1)
    if "number-of-rows" in options and count < 0:
        raise ConfigurationError("The option number-of-rows must not be negative.", detail=f"got {count}")
    counts = [count] if count >= 0 else []
    fields: list[tuple[bool, Field]] = []
    for name, data_type in schema.columns:
        own = {k: options[f"fields.{name}.{k}"] for k in FIELD_OPTIONS if f"fields.{name}.{k}" in options}
        kind = _kind(name, own)
        if kind == "sequence":
            field, length = _sequence(name, data_type, own)
            counts.append(length)
        else:
            field = _random(name, data_type, own)
        fields.append((kind == "random", field))
    names = [name for name, _ in schema.columns]
    rows = _Rows(tuple(names), tuple(fields), random.getrandbits(63))
    type_info = Types.ROW_NAMED(names, [data_type.type_info for _, data_type in schema.columns])
    return GeneratedSource(rows, min(counts) if counts else None, rate), type_info


def _check_names(options: dict[str, str], schema: Schema) -> None:
    valid = [*TABLE_OPTIONS, *(f"fields.{name}.{o}" for name, _ in schema.columns for o in FIELD_OPTIONS)]
    unknown = sorted(set(options) - set(valid))
    if unknown:
        raise ConfigurationError(
            "The connector 'datagen' does not have this option.",
            detail=", ".join(unknown),
            hint=f"valid are {', '.join(valid)}",
        )


def _kind(name: str, own: dict[str, str]) -> str:
    kind = own.pop("kind", "random")
    if kind not in _OPTIONS_OF:
        raise ConfigurationError(
            f"The kind of field {name!r} is unknown.", detail=f"got {kind!r}", hint="random or sequence"
        )
    wrong = [option for option in own if option not in _OPTIONS_OF[kind]]
    if wrong:
        raise ConfigurationError(
            f"A field of kind {kind} does not have this option.",
            detail=", ".join(f"fields.{name}.{option}" for option in wrong),
            hint=f"valid are {', '.join(_OPTIONS_OF[kind])}",
        )
    return kind


def _sequence(name: str, data_type: DataType, own: dict[str, str]) -> tuple[Field, int]:
    missing = [option for option in ("start", "end") if option not in own]
    if missing:
        raise ConfigurationError(
            f"The sequence of field {name!r} needs start and end.", detail=f"missing: {', '.join(missing)}"
        )
    start, end = (_integer(own, option, 0, f"fields.{name}.") for option in ("start", "end"))
    if end < start:
        raise ConfigurationError(
            f"The sequence of field {name!r} ends before it starts.", detail=f"from {start} to {end}"
        )
    if data_type.name == "STRING":
        return _SequenceField(start, str), end - start + 1
    if data_type.name in _FLOATS:
        return _SequenceField(start, float), end - start + 1
    if data_type.name in _INTEGERS:
        _check_range(name, data_type, start, end)
        return _SequenceField(start, int), end - start + 1
    raise ConfigurationError(f"A {data_type.name} has no sequence.", detail=f"field {name!r}")


def _random(name: str, data_type: DataType, own: dict[str, str]) -> Field:
    kind = data_type.name
    allowed = ("length",) if kind == "STRING" else ("min", "max") if kind in (_INTEGERS | _FLOATS) else ()
    for option in own:
        if option not in allowed:
            raise ConfigurationError(
                f"A random {kind} does not have the option {option}.",
                detail=f"fields.{name}.{option}",
                hint=f"valid are {', '.join(allowed)}" if allowed else None,
            )
    prefix = f"fields.{name}."
    if kind == "STRING":
        length = _integer(own, "length", _DEFAULT_LENGTH, prefix)
        if length < 1:
            raise ConfigurationError(f"The length of field {name!r} must be at least 1.")
        return _TextField(length)
    if kind in _INTEGERS:
        half = 1 << (_INTEGERS[kind] - 1)
        low, high = _integer(own, "min", -half, prefix), _integer(own, "max", half - 1, prefix)
        _check_range(name, data_type, low, high)
        _check_order(name, low, high)
        return _IntegerField(low, high - low + 1)
    if kind in _FLOATS:
        bound = _FLOATS[kind]
        lowest, highest = _float(own, "min", -bound, prefix), _float(own, "max", bound, prefix)
        _check_order(name, lowest, highest)
        return _FloatField(lowest, highest)
    return _BooleanField()


# The fields are classes and not closures: they travel to the workers by reference.


@dataclass(frozen=True, slots=True)
class _SequenceField:
    start: int
    convert: Callable[[int], Any]

    def __call__(self, index: int) -> Any:
        return self.convert(self.start + index)


@dataclass(frozen=True, slots=True)
class _IntegerField:
    low: int
    size: int

    def __call__(self, bits: int) -> int:
        return self.low + bits % self.size


@dataclass(frozen=True, slots=True)
class _FloatField:
    low: float
    high: float

    def __call__(self, bits: int) -> float:
        share = (bits >> 11) / (1 << 53)
        return self.low * (1.0 - share) + self.high * share


@dataclass(frozen=True, slots=True)
class _BooleanField:
    def __call__(self, bits: int) -> bool:
        return bits & 1 == 1


@dataclass(frozen=True, slots=True)
class _TextField:
    length: int

    def __call__(self, bits: int) -> str:
        text = f"{bits:016x}"
        while len(text) < self.length:
            bits = _mixed(bits)
            text += f"{bits:016x}"
        return text[: self.length]


def _mixed(value: int) -> int:
    """SplitMix64: neighbouring numbers become unlike ones."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _check_range(name: str, data_type: DataType, low: int, high: int) -> None:
    half = 1 << (_INTEGERS[data_type.name] - 1)
    if low < -half or high >= half:
        raise ConfigurationError(
            f"The bounds of field {name!r} do not fit {data_type.name}.", detail=f"{low} to {high}"
        )


def _check_order(name: str, low: float, high: float) -> None:
    if high < low:
        raise ConfigurationError(f"Of field {name!r} max is less than min.", detail=f"{low} and {high}")


def _integer(options: dict[str, str], key: str, default: int, prefix: str = "") -> int:
    number: int = _number(int, "a whole number", options, key, default, prefix)
    return number


def _float(options: dict[str, str], key: str, default: float, prefix: str) -> float:
    number: float = _number(float, "a number", options, key, default, prefix)
    return number


def _number(parse: Any, what: str, options: dict[str, str], key: str, default: Any, prefix: str) -> Any:
    if key not in options:
        return default
    try:
        return parse(options[key])
    except ValueError as error:
        raise ConfigurationError(
            f"The option {prefix}{key} is not {what}.", detail=f"got {options[key]!r}"
        ) from error
