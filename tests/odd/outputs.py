"""Odd values in files with a schema, and jobs that share a place."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from firesteel.common import Encoder, Row, Types
from firesteel.datastream.connectors.file_system import FileSink
from firesteel.datastream.formats.csv import CsvBulkWriters, CsvSchema
from firesteel.datastream.formats.parquet import ParquetBulkWriters
from firesteel.table.types import DataTypes

from .core import Case, Here, area

CASES: list[Case] = []
case = area("outputs", CASES)


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


Point = namedtuple("Point", "x")


def _written(here: Here, writers: Any, record: Any, kind: Any) -> list[Path]:
    env = here.env()
    sink = FileSink.for_bulk_format(str(here.path / "out"), writers).build()
    env.from_collection([record], kind).sink_to(sink)
    env.execute()
    return [path for path in (here.path / "out").rglob("part-*") if path.is_file()]


def parquet(words: str, data_type: Any, value: Any) -> None:
    def program(here: Here) -> Any:
        row_type = DataTypes.ROW([DataTypes.FIELD("x", data_type)])
        [file] = _written(here, ParquetBulkWriters.for_row_type(row_type), Row(x=value), None)
        return pq.read_table(file, coerce_int96_timestamp_unit="us").column("x").to_pylist()

    case(f"Parquet: {words}")(program)


for _words, _kind, _value in [
    ("a text beyond the declared length", DataTypes.VARCHAR(2), "abc"),
    ("half of a surrogate pair", DataTypes.STRING(), "\ud800"),
    ("a number beyond its bits", DataTypes.TINYINT(), 300),
    ("a numpy number", DataTypes.BIGINT(), np.int64(5)),
    ("a member of an IntEnum", DataTypes.INT(), Level.HIGH),
    ("a member of an Enum", DataTypes.INT(), Color.RED),
    ("True for a number", DataTypes.INT(), True),
    ("a float for a whole number", DataTypes.INT(), 1.5),
    ("NaN for a whole number", DataTypes.BIGINT(), float("nan")),
    ("more digits than declared", DataTypes.DECIMAL(5, 2), decimal.Decimal("123456.78")),
    ("more decimals than declared", DataTypes.DECIMAL(5, 2), decimal.Decimal("1.239")),
    ("a Decimal that is not a number", DataTypes.DECIMAL(5, 2), decimal.Decimal("NaN")),
    ("a float for a decimal", DataTypes.DECIMAL(5, 2), 0.1),
    ("an instant before 1970", DataTypes.TIMESTAMP(3), dt.datetime(1901, 2, 3, 4, 5, 6, 789_012)),
    ("the first instant of datetime", DataTypes.TIMESTAMP(6), dt.datetime.min),
    ("an instant with a zone", DataTypes.TIMESTAMP(3), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
    ("a date for an instant", DataTypes.TIMESTAMP(3), dt.date(2020, 1, 1)),
    ("a text for a date", DataTypes.DATE(), "2020-01-01"),
    ("None where it must not be", DataTypes.INT().not_null(), None),
    ("a tuple for an array", DataTypes.ARRAY(DataTypes.INT()), (1, 2)),
    ("a text for an array of texts", DataTypes.ARRAY(DataTypes.STRING()), "ab"),
    ("None as the key of a map", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), {None: 1}),
    ("a bytearray for bytes", DataTypes.BYTES(), bytearray(b"ab")),
    ("a text for bytes", DataTypes.BYTES(), "ab"),
]:
    parquet(_words, _kind, _value)


def csv(words: str, record: Any) -> None:
    def program(here: Here) -> Any:
        schema = CsvSchema.builder().add_number_column("n", DataTypes.INT()).add_string_column("s").build()
        [file] = _written(here, CsvBulkWriters.for_schema(schema), record, None)
        return file.read_bytes()

    case(f"CSV: {words}")(program)


for _words, _record in [
    ("quotes, commas, newlines and a NUL", Row(n=1, s='a"b,c\nd\0e')),
    ("half of a surrogate pair", Row(n=1, s="\ud800")),
    ("None", Row(n=None, s=None)),
    ("a number for a text", Row(n=1, s=2)),
    ("a text for a number", Row(n="1", s="a")),
    ("a field too few", Row(n=1)),
    ("a field too many", Row(n=1, s="a", t=2)),
    ("a tuple for a row", (1, "a")),
    ("a dict for a row", {"n": 1, "s": "a"}),
    ("a namedtuple of one field for a row of two", Point(1)),
    ("a number of 5,001 digits", Row(n=10**5000, s="a")),
]:
    csv(_words, _record)


def _sink(path: Path) -> FileSink:
    return FileSink.for_row_format(str(path), Encoder.simple_string_encoder()).build()


def _lines(path: Path) -> list[str]:
    found = [p.read_text().splitlines() for p in path.rglob("part-*") if p.is_file()]
    return sorted(line for lines in found for line in lines)


@case("two jobs that write to one directory at a time")
def _(here: Here) -> Any:
    def run(letter: str) -> None:
        env = here.env()
        env.from_collection([f"{letter}{n}" for n in range(200)], Types.STRING()).sink_to(
            _sink(here.path / "out")
        )
        env.execute()

    threads = [threading.Thread(target=run, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = _lines(here.path / "out")
    return len(found), len(set(found))


@case("two sinks of a job that write to one directory")
def _(here: Here) -> Any:
    env = here.env()
    numbers = env.from_collection(["1", "2"], Types.STRING())
    numbers.sink_to(_sink(here.path / "out"))
    numbers.map(lambda v: v + "0", Types.STRING()).sink_to(_sink(here.path / "out"))
    env.execute()
    return _lines(here.path / "out")


@case("two sinks of a job, one in the directory of the other")
def _(here: Here) -> Any:
    env = here.env()
    numbers = env.from_collection(["1", "2"], Types.STRING())
    numbers.sink_to(_sink(here.path / "out"))
    numbers.map(lambda v: v + "0", Types.STRING()).sink_to(_sink(here.path / "out" / "below"))
    env.execute()
    return _lines(here.path / "out")


@case("two jobs of one id at a time, with checkpoints in one directory")
def _(here: Here) -> Any:
    def start() -> Any:
        env = here.env(
            **{
                "$internal.pipeline.job-id": "0123456789abcdef" * 2,
                "execution.checkpointing.interval": "20 ms",
                "execution.checkpointing.dir": str(here.path / "checkpoints"),
                "firesteel.epoch.max-records": 10,
            }
        )
        env.from_sequence(0, 2**60).filter(lambda v: False).print()
        return env.execute_async("twice")

    first = start()
    try:
        second = start()
        second.cancel().result()
    finally:
        first.cancel().result()


@case("two jobs of different ids with checkpoints in one directory")
def _(here: Here) -> Any:
    def run(env: Any) -> Any:
        return sorted(
            env.from_collection([1, 2, 3])
            .key_by(lambda v: v % 2)
            .reduce(lambda a, b: a + b)
            .execute_and_collect()
        )

    options = {
        "execution.checkpointing.interval": "20 ms",
        "execution.checkpointing.dir": str(here.path / "c"),
    }
    return run(here.env(**options)), run(here.env(**options))


@case("a record of 40 MB through an exchange with keys")
def _(here: Here) -> Any:
    big = here.of(1).map(lambda v: (v, "x" * (40 << 20)))
    return sorted(big.key_by(lambda v: v[0]).map(lambda v: len(v[1])).execute_and_collect())


@case("a file that others replace by a directory while a job writes")
def _(here: Here) -> Any:
    env = here.env()
    place = here.path / "out"

    def replace(value: str) -> str:
        if value == "2" and place.is_dir():
            place.rename(here.path / "moved")
            place.write_text("mine")
        return value

    env.from_collection(["1", "2", "3"], Types.STRING()).map(replace, Types.STRING()).sink_to(_sink(place))
    env.execute()
    return place.read_text() if place.is_file() else _lines(place)
