"""One program, over a source that ends and over one that does not."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import TimeWindow, TumblingEventTimeWindows
from firesteel.program.execution import get_executor
from firesteel.testing import CollectingSink
from tests.runtime.support import MODE, environment, in_both_modes, local_platform
from tests.waiting import patience

WINDOW_MS = 1_000
OUT_OF_ORDER_MS = 400
LAST_MS = 20_300
KEYS = ("a", "b", "c")


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.split(",")[1])


class Sums(ProcessWindowFunction[Any, Any, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield key, context.window().end, sum(value for _, _, value in elements)


class RunningTotal(KeyedProcessFunction):
    """Adds what all windows of the key had so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, end, count = value
        total = (self.total.value() or 0) + count
        self.total.update(total)
        yield key, end, count, total


def write_records(path: Path) -> list[tuple[str, int, int]]:
    """Records out of order, none of them late; the last one is the youngest."""
    chance = random.Random(7)
    times = sorted(range(0, LAST_MS, 50), key=lambda t: t + chance.randrange(OUT_OF_ORDER_MS))
    records = [(chance.choice(KEYS), t, chance.randrange(100)) for t in [*times, LAST_MS]]
    path.write_text("".join(f"{key},{t},{value}\n" for key, t, value in records))
    return records


def expected(records: list[tuple[str, int, int]]) -> list[tuple[str, int, int, int]]:
    """What the program finds in all windows, by hand."""
    windows: dict[tuple[str, int], int] = {}
    for key, t, value in records:
        end = t - t % WINDOW_MS + WINDOW_MS
        windows[key, end] = windows.get((key, end), 0) + value
    return sorted(
        (key, end, count, sum(c for (k, e), c in windows.items() if k == key and e <= end))
        for (key, end), count in windows.items()
    )


def program(env: StreamExecutionEnvironment, source: FileSource) -> CollectingSink:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(OUT_OF_ORDER_MS))
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").set_parallelism(1)
    # Not at the source: as in Flink, what a file has of time goes with it when it has been read.
    stamped = lines.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Stamps()))
    fields = stamped.set_parallelism(1).map(lambda line: line.split(","))
    records = fields.map(lambda f: (f[0], int(f[1]), int(f[2])))
    sums = records.key_by(lambda r: r[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
    sink = CollectingSink()
    sums.process(Sums()).key_by(lambda r: r[0]).process(RunningTotal()).sink_to(sink)
    return sink


@in_both_modes
@pytest.mark.row("S-ARCH-01")
def test_a_source_without_end_gives_the_results_of_one_that_ends(tmp_path: Path, mode: str) -> None:
    """But for the windows that its watermark has not passed, which only the end of the input completes."""
    records = write_records(tmp_path / "records.csv")
    passed_ms = LAST_MS - OUT_OF_ORDER_MS
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    options: dict[str, Any] = {MODE: mode}
    if mode == "epochs":
        options["firesteel.epoch.max-records"] = "15"  # each second has 20: its window is state
    with local_platform():
        env = environment(2)
        bounded = program(env, files.build())
        env.execute("bounded")
        env = environment(2, **options)
        unbounded = program(env, files.monitor_continuously(Duration.of_millis(20)).build())
        job = env.execute_async("unbounded")
        done = [result for result in expected(records) if result[1] <= passed_ms]
        unbounded.wait_for(len(done), patience(60))
        assert not job.get_job_status().result().is_terminal_state()
        epochs = get_executor().running_jobs[0].view.epoch  # type: ignore[attr-defined]
        job.cancel().result(patience(30))
    assert mode != "epochs" or epochs > 20
    assert sorted(bounded.values) == expected(records)
    assert sorted(unbounded.values) == [result for result in sorted(bounded.values) if result[1] <= passed_ms]
    assert 0 < len(unbounded.values) < len(bounded.values)
