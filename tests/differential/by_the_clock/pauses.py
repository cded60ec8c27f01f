"""What happens by the wall clock while a slow map lets nothing through: timers, windows, watermarks, idleness.

Records come in groups, seconds apart and far from the ends of windows, so that the output is always the same.
"""

import time

from pyflink.common import Configuration, Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import (
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
)

WINDOW_MS = 4_000
RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])
# Name, event time, and how many windows after the one before. The first one starts workers.
GROUPS = [
    ("w", 500, 1),
    ("a", 1_000, 3),
    ("b", 1_001, 0),
    ("c", 2_000, 1),
    ("d", 3_000, 2),
    ("e", 3_001, 0),
    ("f", 4_000, 1),
]


def slow(record):
    """Pass the record on a little after a window has begun."""
    name, stamp, windows = record
    if windows:
        now_ms = time.time() * 1000
        begin_ms = (now_ms // WINDOW_MS + windows) * WINDOW_MS + 400
        time.sleep((begin_ms - now_ms) / 1000)
    return name, stamp


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Timers(KeyedProcessFunction):
    """A timer a second after each record, and one that the input does not live to see."""

    def process_element(self, value, ctx):
        service = ctx.timer_service()
        if value[0] != "w":
            service.register_processing_time_timer(service.current_processing_time() + 1_000)
        service.register_processing_time_timer(service.current_processing_time() + 3_600_000)
        yield value[0]

    def on_timer(self, timestamp, ctx):
        late_ms = ctx.timer_service().current_processing_time() - timestamp
        yield f"timer {'in time' if 0 <= late_ms < 2_500 else late_ms}"


class EventTimers(KeyedProcessFunction):
    """A timer that the watermark of the record itself reaches, which comes by the clock."""

    def process_element(self, value, ctx):
        if value[0] in "be":  # they come at about the same time as the watermark of the one before
            return
        ctx.timer_service().register_event_time_timer(value[1] - 1)
        yield value[0]

    def on_timer(self, timestamp, ctx):
        yield f"timer {timestamp}"


class Watermarks(ProcessFunction):
    """The watermark of the records that come after a pause."""

    def process_element(self, value, ctx):
        if value[0] in "acdf":
            yield f"{value[0]} {ctx.timer_service().current_watermark()}"


class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield "".join(sorted(name for name, _ in elements))


def main():
    configuration = Configuration()
    configuration.set_string("python.fn-execution.bundle.size", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.get_config().set_auto_watermark_interval(200)
    records = env.from_collection(GROUPS, Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()]))
    paced = records.map(slow, RECORD)
    keyed = paced.key_by(lambda record: 0, Types.INT())
    keyed.process(Timers(), Types.STRING()).print("timers")
    window = Time.milliseconds(WINDOW_MS)
    keyed.window(TumblingProcessingTimeWindows.of(window)).process(Contents(), Types.STRING()).print(
        "tumbling"
    )
    hours = keyed.window(TumblingProcessingTimeWindows.of(Time.days(3_650)))
    hours.process(Contents(), Types.STRING()).print("never")
    sliding = keyed.window(SlidingProcessingTimeWindows.of(Time.milliseconds(2 * WINDOW_MS), window))
    sliding.reduce(lambda x, y: (x[0] + y[0], x[1] + y[1]), output_type=RECORD).map(
        lambda record: record[0], Types.STRING()
    ).print("sliding")
    gap = Time.milliseconds(WINDOW_MS + WINDOW_MS // 2)
    sessions = keyed.window(ProcessingTimeSessionWindows.with_gap(gap))
    sessions.process(Contents(), Types.STRING()).print("sessions")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    # In a task of its own: in the task that sleeps none comes before it has slept, and in that of a collection
    # Flink's old sources leave no time for them.
    stamped = paced.rebalance().assign_timestamps_and_watermarks(strategy)
    stamped.key_by(lambda record: 0, Types.INT()).process(EventTimers(), Types.STRING()).print("event timers")
    stamped.process(Watermarks(), Types.STRING()).print("watermarks")
    # After the first record nothing comes there. It has no source of its own: what sleeps in one task holds up all
    # that is in the same task with it.
    first = paced.filter(lambda record: record[0] == "w")
    silent = first.rebalance().assign_timestamps_and_watermarks(
        strategy.with_idleness(Duration.of_millis(1_000))
    )
    silent.union(stamped).process(Watermarks(), Types.STRING()).print("beside a silent one")
    env.execute("pauses")


if __name__ == "__main__":
    main()
