"""What the programs share: streams with event time, and functions that show what they see.

The timestamp of a record is its last field. The watermark after a record is its highest timestamp so far - 1 -
``bound``: both sides are told to emit watermarks after each record (see ``make_reference.py``).
"""

from pyflink.common import Duration, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)


class LastField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def environment(parallelism=1):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def in_event_time(stream, bound=0):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(LastField()))


def events(env, records, bound=0, type_info=None):
    return in_event_time(env.from_collection(records, type_info), bound)


def by_first(value):
    return value[0]


class Stamped(ProcessFunction):
    """A value (a tuple behind its key) with its timestamp, and the watermark at which it came."""

    def process_element(self, value, ctx):
        key = f"{value[0]}> " if isinstance(value, tuple) else ""
        yield f"{key}{value} @{show(ctx.timestamp())} W{show(ctx.timer_service().current_watermark())}"


def show(timestamp):
    return {-(2**63): "MIN", 2**63 - 1: "MAX"}.get(timestamp, timestamp)


def bounds(window):
    return f"[{window.start},{window.end})"


def names(elements):
    return " ".join(str(e[1]) for e in elements)


class Contents(ProcessWindowFunction):
    """The window and the second fields of its records, in their order."""

    def process(self, key, context, elements):
        watermark = show(context.current_watermark())
        yield f"{key}> {bounds(context.window())} {names(elements)} at W{watermark}"


class Merged(ProcessWindowFunction):
    """The same with the fields sorted: Flink does not say in which order the contents of windows are merged."""

    def process(self, key, context, elements):
        watermark = show(context.current_watermark())
        yield f"{key}> {bounds(context.window())} {' '.join(sorted(e[1] for e in elements))} at W{watermark}"


class AllContents(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield f"{bounds(context.window())} {names(elements)}"


class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        yield f"{key}> {bounds(window)} {names(inputs)}"


class AppliedToAll(AllWindowFunction):
    def apply(self, window, inputs):
        yield f"{bounds(window)} {names(inputs)}"
