"""A chain of five stateless operators, map / filter / flat_map, without an exchange.

One text for two engines, as ``keyed_count.py``.
"""

import argparse
import json
import time

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])


def both_halves(value):
    yield value[0], value[1] // 2
    yield value[0], value[1] - value[1] // 2


def run(records, options):
    configuration = Configuration()
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    (
        env.from_source(NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda i: (i % 1_000, i), output_type=PAIR)
        .filter(lambda value: value[0] != 7)
        .flat_map(both_halves, output_type=PAIR)
        .map(lambda value: (value[0], value[1] + 1), output_type=PAIR)
        .filter(lambda value: value[1] < 0)
        .print()
    )
    started = time.perf_counter()
    env.execute("chain of five")
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for records in options.records:
        seconds = run(records, options)
        print(json.dumps({"records": records, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
