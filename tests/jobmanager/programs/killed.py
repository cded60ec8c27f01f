"""A job with keyed state, timers, windows, a FileSink and a two-phase SQLite sink each, whose driver kills
itself at a given point.

    killed.py CHECKPOINTS OUTPUT [--dies POINT COUNT] [--savepoints DIRECTORY] [--job-id ID]

The point is passed for the COUNT-th time when SIGKILL comes. Without one the job runs to its end. With a
directory for savepoints it is stopped with one when it has begun its files. Without an id it goes on as the
newest job of its name.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.options import recovery
from firesteel.common.time import Time
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from tests.jobmanager.programs.fault_points import die_at
from tests.jobmanager.programs.sqlite_sink import SqliteSink
from tests.jobmanager.test_recovery import every_epoch
from tests.runtime.support import SplitsSource, local_platform
from tests.waiting import until


class ByKey(BucketAssigner):
    """A directory for each key: the records are the text of a pair."""

    def get_bucket_id(self, element: str, context: BucketAssigner.Context) -> str:
        return f"key={element[2:4]}"


class Numbers(KeyedProcessFunction):
    """Numbers the records of each key, and says how many there were 50 ms after the first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 1:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 50)
        yield value[0], count

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), -self.count.value()


def main(checkpoints: str, output: str, savepoints: str | None, job_id: str | None) -> None:
    env = every_epoch(None, 2, **{
        "execution.checkpointing.dir": checkpoints,
        "execution.checkpointing.num-retained": "2",
        "execution.state-recovery.path": "latest",
        "firesteel.epoch.max-records": "3",  # so that compaction takes files out
        **({} if job_id is None else {recovery.JOB_ID.key: job_id}),
    })  # fmt: skip
    os.makedirs(output, exist_ok=True)
    splits = [[((f"k{n % 5}", n), n) for n in range(split, 240, 3)] for split in range(3)]
    marks = WatermarkStrategy.for_monotonous_timestamps()
    source = env.from_source(SplitsSource(*splits), marks, "numbers").uid("numbers")
    keyed = source.key_by(lambda v: v[0])
    numbered = keyed.process(Numbers()).uid("count")
    windowed = (
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(40)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .uid("window")
    )
    files = {
        "numbered": (RollingPolicy.default_rolling_policy(300), BucketAssigner.date_time_bucket_assigner()),
        "windowed": (RollingPolicy.on_checkpoint_rolling_policy(), ByKey()),
    }
    for name, stream in (("numbered", numbered), ("windowed", windowed)):
        sink = FileSink.for_row_format(f"{output}/{name}", Encoder.simple_string_encoder())
        policy, buckets = files[name]
        sink.with_rolling_policy(policy).with_bucket_assigner(buckets)
        text = stream.map(str, Types.STRING()).uid(f"text-{name}")
        text.sink_to(sink.build()).uid(name)
        text.add_sink(SqliteSink(f"{output}/.{name}.db", name)).uid(f"sqlite-{name}")
    job = env.execute_async("killed")
    if savepoints is not None:
        until(lambda: list(Path(output, "numbered").rglob("*part-*")))
        job.stop_with_savepoint(False, savepoints).result()
    job.get_job_execution_result().result()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("places", nargs=2)
    parser.add_argument("--dies", nargs=2)
    parser.add_argument("--savepoints")
    parser.add_argument("--job-id")
    given = parser.parse_args()
    if given.dies:
        die_at(given.dies[0], int(given.dies[1]))
    with local_platform():
        main(*given.places, given.savepoints, given.job_id)
