"""Keyed count: one ``ValueState`` get and update, and one output, for each record.

One text for two engines: ``python keyed_count.py`` runs it on PyFlink, ``firesteel run --pyflink
keyed_count.py`` on firesteel. The last operator drops every record, so neither engine pays for a sink; in
PyFlink's process mode it is fused into the Python worker, so no output goes back to the JVM either.
"""

import argparse
import json
import sys
import time

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

RECORD = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + value[2]
        self.count.update(count)
        yield value[0], value[1], count


def run(records, keys, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    (
        env.from_source(NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda i: (i % keys, i, 1), output_type=RECORD)
        .key_by(lambda value: value[0], key_type=Types.LONG())
        .process(Count(), output_type=RECORD)
        .filter(lambda value: value[2] < 0)
        .print()
    )
    started = time.perf_counter()
    env.execute("keyed count")
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
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records or map(int, sys.stdin):
        seconds = run(records, options.keys, options)
        print(json.dumps({"records": records, "keys": options.keys, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
