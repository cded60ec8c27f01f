"""Interval join of two streams by key, one second to both sides.

firesteel runs ``KeyedStream.interval_join``; PyFlink has no such operator, so there the same join is a
``KeyedCoProcessFunction`` with a map of buffered records for each side and a timer for their clean-up. Each
side has a record for every millisecond of event time and a key has one each second: three matches each.
"""

import argparse
import json
import time

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.data_stream import KeyedStream
from pyflink.datastream.state import MapStateDescriptor

PAIR = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
KEYS = 1_000
BOUND_MS = 1_000


def record_type():
    # Made anew for each use: in PyFlink a type that a stream has used cannot be pickled with a function.
    return Types.TUPLE([Types.LONG(), Types.LONG()])


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Join(KeyedCoProcessFunction):
    """Timestamps are unique within a key and side here, so a map of timestamp -> record is enough."""

    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_map_state(MapStateDescriptor("left", Types.LONG(), record_type()))
        self.right = runtime_context.get_map_state(MapStateDescriptor("right", Types.LONG(), record_type()))

    def process_element1(self, value, ctx):
        self.left.put(value[1], value)
        ctx.timer_service().register_event_time_timer(value[1] + BOUND_MS)
        for at, other in self.right.items():
            if abs(at - value[1]) <= BOUND_MS:
                yield value[0], value[1], other[1]

    def process_element2(self, value, ctx):
        self.right.put(value[1], value)
        ctx.timer_service().register_event_time_timer(value[1] + BOUND_MS)
        for at, other in self.left.items():
            if abs(at - value[1]) <= BOUND_MS:
                yield value[0], other[1], value[1]

    def on_timer(self, timestamp, ctx):
        self.left.remove(timestamp - BOUND_MS)
        self.right.remove(timestamp - BOUND_MS)
        return ()


def joined(left, right):
    if not hasattr(KeyedStream, "interval_join"):
        return left.connect(right).process(Join(), output_type=PAIR)
    from pyflink.datastream.functions import ProcessJoinFunction

    class Pairs(ProcessJoinFunction):
        def process_element(self, left, right, ctx):
            yield left[0], left[1], right[1]

    bound = Time.milliseconds(BOUND_MS)
    return (
        left.interval_join(right)
        .between(Time.milliseconds(-BOUND_MS), bound)
        .process(Pairs(), output_type=PAIR)
    )


def run(records, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    left, right = (
        env.from_source(
            NumberSequenceSource(0, records // 2 - 1), WatermarkStrategy.no_watermarks(), f"numbers {side}"
        )
        .map(lambda i: (i % KEYS, i), output_type=record_type())
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda value: value[0], key_type=Types.LONG())
        for side in ("left", "right")
    )
    joined(left, right).filter(lambda pair: pair[0] < 0).print()
    started = time.perf_counter()
    env.execute("interval join")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records:
        print(json.dumps({"records": records, "seconds": run(records, options)}), flush=True)


if __name__ == "__main__":
    main()
