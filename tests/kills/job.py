"""The job that everything is killed under: source -> keyed state with timers -> windows -> an exactly-once
file sink and a two-phase table of SQLite; and source -> pattern -> a file sink. What it gives does not
depend on how it is cut into epochs, nor on how the two ranges of its source interleave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.time import Time
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.file_system import FileSink, RollingPolicy
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from tests.jobmanager.programs.sqlite_sink import SqliteSink, lines_in, staged_in
from tests.kills import matches

RANGES: Final = 2  # of the source: one for each of its subtasks
RECORDS: Final = 2500  # of a range; the n-th has event time n
PER_EPOCH: Final = 250
KEYS: Final = 300  # of a range: no key is in both
SPAN_MS: Final = 400  # a timer ends each
WINDOW_MS: Final = 250
GROUPS: Final = 7
TRACE: Final = 300  # characters of state of a key: the changes of an epoch are too many to ride in an answer
FILES: Final = ("records", "windows", "matches")
TABLES: Final = ("windows", "spans")  # what the database has


def key_of(number: int) -> str:
    return f"{number // RECORDS}:{number % RECORDS % KEYS}"


def group_of(record: tuple[Any, ...]) -> int:
    return int(record[1].partition(":")[2]) % GROUPS


class Meter(KeyedProcessFunction):
    """Numbers the records of a key, with the sum of the last three; and how many there were in each span."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        self.spans = runtime_context.get_map_state(MapStateDescriptor("spans", Types.LONG(), Types.LONG()))
        self.trace = runtime_context.get_state(ValueStateDescriptor("trace", Types.STRING()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        last = [*self.last.get(), value][-3:]
        self.last.update(last)
        self.trace.update(f"{value} {self.trace.value() or ''}".ljust(TRACE)[:TRACE])
        end = ctx.timestamp() // SPAN_MS * SPAN_MS + SPAN_MS - 1
        self.spans.put(end, (self.spans.get(end) or 0) + 1)
        ctx.timer_service().register_event_time_timer(end)
        yield "record", ctx.get_current_key(), count, sum(last)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "span", ctx.get_current_key(), self.spans.get(timestamp), timestamp
        self.spans.remove(timestamp)


class Summary(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        records = list(elements)
        yield _window_line(key, context.window().start, len(records), sum(r[2] for r in records))


def _window_line(group: int, start: int, count: int, total: int) -> str:
    return f"{group} {start} {count} {total}"


def build(env: StreamExecutionEnvironment, output: Path, rate: float | None = None) -> None:
    """:param rate: how many records come in a second; None: as many as an epoch takes."""
    env.set_parallelism(RANGES)
    marks = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n % RECORDS)
    numbers = GeneratedSource(lambda n: n, RANGES * RECORDS, rate)
    source = env.from_source(numbers, marks, "numbers").uid("numbers")
    metered = source.key_by(key_of).process(Meter()).uid("meter")
    windows = (
        metered.key_by(group_of)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .process(Summary(), Types.STRING())
        .uid("summary")
    )
    spans = metered.filter(lambda r: r[0] == "span").uid("spans").map(str, Types.STRING()).uid("span-text")
    files = _files(output, "records")
    metered.map(str, Types.STRING()).uid("text").sink_to(files.build()).uid("records")
    found = matches.found(source.key_by(key_of))
    found.sink_to(_files(output, "matches").build()).uid("match-files")
    files = _files(output, "windows")
    files.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    windows.sink_to(files.build()).uid("windows")
    for table, stream in zip(TABLES, (windows, spans), strict=True):
        stream.add_sink(SqliteSink(_database(output, table), table)).uid(f"table-{table}")


def _files(output: Path, name: str) -> FileSink.RowFormatBuilder:
    return FileSink.for_row_format(f"{output}/{name}", Encoder.simple_string_encoder())


def _database(output: Path, table: str) -> str:
    return f"{output}/.{table}.db"


@cache
def expected() -> dict[str, list[str]]:
    """What the program means, worked out without any engine; sorted."""
    records, spans = [], []
    for range_ in range(RANGES):
        for at in range(RECORDS):
            values = [range_ * RECORDS + past for past in range(at, -1, -KEYS)]
            records.append((("record", f"{range_}:{at % KEYS}", len(values), sum(values[:3])), at))
        counts = Counter((at % KEYS, at // SPAN_MS * SPAN_MS + SPAN_MS - 1) for at in range(RECORDS))
        spans += [(("span", f"{range_}:{key}", n, end), end) for (key, end), n in counts.items()]
    found = [
        line
        for range_ in range(RANGES)
        for key in range(KEYS)
        for line in matches.expected(_events(range_, key))
    ]
    windows: dict[tuple[int, int], list[int]] = {}
    for record, at in records + spans:
        windows.setdefault((group_of(record), at // WINDOW_MS * WINDOW_MS), []).append(record[2])
    lines = {
        "records": [str(record) for record, _ in records + spans],
        "windows": [_window_line(*place, len(ns), sum(ns)) for place, ns in windows.items()],
        "spans": [str(record) for record, _ in spans],
        "matches": found,
    }
    return {name: sorted(found) for name, found in lines.items()}


def _events(range_: int, key: int) -> list[tuple[int, int]]:
    return [(at, range_ * RECORDS + at) for at in range(key, RECORDS, KEYS)]


def produced(output: Path) -> dict[str, list[str]]:
    """What readers see: of files those that are not hidden."""
    found: dict[str, list[str]] = {}
    for name in FILES:
        below = [p for p in (output / name).rglob("*") if p.is_file()]
        shown = [p for p in below if not any(s.startswith(".") for s in p.relative_to(output).parts)]
        found[f"files of {name}"] = sorted(line for p in shown for line in p.read_text().splitlines())
    for table in TABLES:
        found[f"table of {table}"] = lines_in(_database(output, table), table)
    return found


def differences(output: Path, *, may_leave: bool = False) -> str:
    """How what came out differs from what belongs there; empty: not at all.

    :param may_leave: a driver that was killed or replaced may have staged what nobody can name.
    """
    said = []
    for name, lines in produced(output).items():
        there, wanted = Counter(lines), Counter(expected()[name.rpartition(" ")[2]])
        for what, lines_of in (("lost", wanted - there), ("too many", there - wanted)):
            if lines_of:
                said.append(f"{name}: {lines_of.total()} {what}, as {sorted(lines_of)[:3]}")
    for table in TABLES:
        staged = staged_in(_database(output, table), table)
        if staged and not may_leave:
            said.append(f"table of {table}: {staged} transactions are staged still")
    return "; ".join(said)
