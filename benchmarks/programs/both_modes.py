"""What a record of the keyed count costs in real time and in epochs: CPU, which other load hardly changes.

One process runs the jobs of both modes in turn, so they have the same JVM and the same Python workers.

    python both_modes.py --records 2000000 --rounds 3

Prints a line of JSON for each job, with its rate and its CPU for a record in the JVM, in Python workers and
in the driver, in microseconds; in the last one the ratios real time / epochs, medians of the rounds.
"""

import argparse
import json
import time
from statistics import median

import psutil

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors import NumberSequenceSource
from firesteel.datastream.state import ValueStateDescriptor

RECORD = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
MODES = ("real-time", "epochs")  # the first one starts a JVM that can run both
PARTS = ("jvm", "workers", "driver")
WARM_UP = 300_000


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + value[2]
        self.count.update(count)
        yield value[0], value[1], count


def run(mode, records, options):
    configuration = Configuration()
    configuration.set_string("execution.mode", mode)
    for pair in options.config:
        key, _, value = pair.partition("=")
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    keys, of_each = options.keys, records // options.keys
    numbers = NumberSequenceSource(0, keys * of_each - 1)
    counted = (
        env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        .map(lambda i: (i % keys, i, 1), output_type=RECORD)
        .key_by(lambda value: value[0], key_type=Types.LONG())
        .process(Count(), output_type=RECORD)
    )
    before, started = cpu_s(), time.perf_counter()
    with counted.filter(lambda value: value[2] == of_each).execute_and_collect() as complete:
        found = {value[0] for value in complete}
    seconds, after = time.perf_counter() - started, cpu_s()
    if len(found) != keys:
        raise SystemExit(f"{mode}: {len(found)} of {keys} keys have all of their records")
    micros = {part: (after[part] - before[part]) / (keys * of_each) * 1e6 for part in after}
    return {"records": keys * of_each, "mode": mode, "rate": keys * of_each / seconds} | micros


def cpu_s():
    """CPU seconds until now. What workers took that have ended is in the daemon that forked them."""
    used = dict.fromkeys(PARTS, 0.0)
    mine = psutil.Process()
    for process in [mine, *mine.children(recursive=True)]:
        try:
            times, name = process.cpu_times(), process.name()
            is_python = any("pyspark" in word for word in process.cmdline())
            is_daemon = is_python and psutil.Process(process.ppid()).name() == "java"
        except psutil.Error:  # it has ended meanwhile
            continue
        part = "jvm" if name == "java" else "workers" if is_python else "driver"
        used[part] += times.user + times.system
        if is_daemon:
            used[part] += times.children_user + times.children_system
    return used


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for mode in MODES:
        run(mode, WARM_UP, options)
    rates, cpu = [], []
    for _ in range(options.rounds):
        ours, theirs = (run(mode, options.records, options) for mode in MODES)
        for line in (ours, theirs):
            print(json.dumps(line), flush=True)
        rates.append(ours["rate"] / theirs["rate"])
        cpu.append(sum(map(ours.get, PARTS)) / sum(map(theirs.get, PARTS)))
    print(json.dumps({"records": options.records, "rate": median(rates), "cpu": median(cpu)}), flush=True)


if __name__ == "__main__":
    main()
