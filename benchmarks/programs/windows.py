"""Count by key in windows of event time: tumbling (10 s), sliding (10 s every 5 s) or sessions (gap 5 s).

One text for PyFlink and firesteel, as in ``keyed_count.py``. Each of the two source splits has a record for
every millisecond of event time, in order, so a window has as many records whatever the length of the job;
``--minutes`` spreads the records over a fixed time instead. For sessions ten records of a key follow each
other.
"""

import argparse
import json
import sys
import time

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

RECORD = Types.TUPLE([Types.LONG(), Types.LONG()])
ASSIGNERS = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.seconds(10)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)),
    "session": lambda: EventTimeSessionWindows.with_gap(Time.seconds(5)),
}


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def run(records, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    keys, half = options.keys, records // 2
    span = options.minutes * 60_000 if options.minutes else half
    burst = 10 if options.kind == "session" else 1
    (
        env.from_source(NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda i: (i // burst % keys, i % half * span // half), output_type=RECORD)
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
        )
        .key_by(lambda value: value[0], key_type=Types.LONG())
        .window(ASSIGNERS[options.kind]())
        .allowed_lateness(options.lateness * 1000)
        .aggregate(Count(), accumulator_type=Types.LONG(), output_type=Types.LONG())
        .filter(lambda value: value < 0)
        .print()
    )
    started = time.perf_counter()
    env.execute(f"{options.kind} count")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records",
        type=int,
        nargs="*",
        default=[100_000],
        help="of each job; none: as stdin has them",
    )
    parser.add_argument("--kind", choices=sorted(ASSIGNERS), default="tumbling")
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--minutes", type=int, default=0, help="event time of the whole job; 0: by records")
    parser.add_argument("--lateness", type=int, default=0, help="allowed lateness in seconds")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records or map(int, sys.stdin):
        print(json.dumps({"records": records, "seconds": run(records, options)}), flush=True)


if __name__ == "__main__":
    main()
