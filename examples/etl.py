"""A pipeline in the place of a nightly load: validate, normalise, leave out duplicates, load.

    python examples/etl.py INPUT OUTPUT [--checkpoints DIRECTORY]

INPUT is a directory of CSV files of customers, ``id,name,country,since``, whose producers send rows twice and
write what they like. OUTPUT/customers gets each customer once, OUTPUT/rejected each bad line with the
reason. With checkpoints the ids that were seen are remembered over a failure, and files appear with the
checkpoint that covers them.

    lines -> parse -+-> by id -> once -> customers
                    +-> rejected
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from typing import Any

from firesteel.common import Configuration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from firesteel.datastream.state import ValueStateDescriptor

REJECTED = OutputTag("rejected", Types.STRING())
COUNTRIES = {"de": "DE", "germany": "DE", "deutschland": "DE", "fr": "FR", "france": "FR", "pl": "PL"}
FIELDS = 4


class Parse(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        try:
            yield parsed(value)
        except ValueError as error:
            yield REJECTED, f"{error}: {value}"


def parsed(line: str) -> tuple[int, str, str, str]:
    """Return id, name, country and day in their normal forms.

    :raises ValueError: the line is not a customer; the text says why.
    """
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != FIELDS:
        raise ValueError(f"{len(fields)} fields")
    number, name, country, since = fields
    if not number.isdigit():
        raise ValueError("no id")
    if not name:
        raise ValueError("no name")
    if country.lower() not in COUNTRIES:
        raise ValueError("no country")
    return int(number), " ".join(name.split()).title(), COUNTRIES[country.lower()], _day(since)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("no day") from None


class Once(KeyedProcessFunction):
    """Lets the first record of each key pass."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if not self.seen.value():
            self.seen.update(True)
            yield ",".join(map(str, value))


def customers(lines: DataStream) -> tuple[DataStream, DataStream]:
    """Return the customers and the rejected lines."""
    rows = lines.process(Parse()).uid("parse")
    once = rows.key_by(lambda row: row[0], Types.INT()).process(Once(), Types.STRING()).uid("once")
    return once, rows.get_side_output(REJECTED)


def load(lines: DataStream, output: str) -> None:
    good, bad = customers(lines)
    good.sink_to(_text(f"{output}/customers")).uid("load")
    bad.sink_to(_text(f"{output}/rejected")).uid("reject")


def _text(directory: str) -> FileSink:
    return FileSink.for_row_format(directory, Encoder.simple_string_encoder()).build()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--checkpoints")
    options = parser.parse_args()
    settings = Configuration()
    if options.checkpoints:
        settings.set_string("execution.checkpointing.interval", "10 s")
        settings.set_string("execution.checkpointing.dir", options.checkpoints)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), options.input).build()
    load(env.from_source(source, WatermarkStrategy.no_watermarks(), "lines"), options.output)
    env.execute("etl")


if __name__ == "__main__":
    main()
