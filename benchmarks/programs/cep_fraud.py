"""A pattern, a high payment and then a foreign one within ten minutes: one event of a hundred is in a match.

The same events and the same pattern as in ``CepFraud.java``, which runs on Flink's own CEP library (PyFlink
has none). Each of the two source splits has a record every two milliseconds of event time, in order, and no
time is that of two records.
"""

import argparse
import json
import time

import psutil

from firesteel.cep import CEP, Pattern
from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

PAYMENT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.BOOLEAN(), Types.LONG()])


def payments(env, records, keys):
    """Key, amount, whether at home, event time."""
    half = records // 2

    def payment(n):
        chance = ((n ^ n >> 9) * 2654435761 >> 20) % 150
        return n % keys, 9000 if chance == 0 else 10, chance != 1, n % half * 2 + n // half

    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda p, _: p[3])
    numbers = env.from_source(
        NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers"
    )
    return numbers.map(payment, output_type=PAYMENT).assign_timestamps_and_watermarks(times)


def matches(stream):
    pattern = (
        Pattern.begin("high")
        .where(lambda p: p[1] > 5000)
        .followed_by("foreign")
        .where(lambda p: not p[2])
        .within(Time.minutes(10))
    )
    keyed = stream.key_by(lambda p: p[0], key_type=Types.LONG())
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    return CEP.pattern(keyed, pattern).select(lambda m: (m["high"][0][1], m["foreign"][0][1]), pair)


def cpu_seconds():
    """Of this process, of those that it has started, and of theirs."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    total = 0.0
    for process in family:
        try:
            total += sum(process.cpu_times()[:4])  # with those of children that have ended
        except psutil.Error:
            continue
    return total


def run(records, options):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = matches(payments(env, records, options.keys))
    cpu, started = cpu_seconds(), time.perf_counter()
    with stream.execute_and_collect() as found:
        count = sum(1 for _ in found)
    return {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - cpu, "matches": count}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000])
    parser.add_argument("--keys", type=int, default=1_000)
    options = parser.parse_args()
    for records in options.records:
        print(json.dumps({"records": records, **run(records, options)}), flush=True)


if __name__ == "__main__":
    main()
