"""Latency while checkpoints write much: each record has a new key, and its payload becomes state.

A generator makes ``--rate`` records a second for ``--seconds``; a record's time begins when it was *due* and
ends in the keyed function. The second half of the run counts; between two checkpoints ``rate * size *
checkpoint`` bytes of state change.
"""

import argparse
import json
import tempfile
import time
from array import array
from pathlib import Path

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream.state import ValueStateDescriptor

RECORD = Types.TUPLE([Types.LONG(), Types.DOUBLE(), Types.PRIMITIVE_ARRAY(Types.BYTE())])


class Due(MapFunction):
    def __init__(self, per_second, size):
        self.per_second, self.size = per_second, size
        self.began, self.sent = 0.0, 0

    def map(self, number):
        if not self.sent:
            self.began = time.time()
        due = self.began + self.sent / self.per_second
        self.sent += 1
        return number, due, number.to_bytes(8, "big") * (self.size // 8)


class Keep(KeyedProcessFunction):
    def __init__(self, directory):
        self.directory = directory

    def open(self, context):
        self.state = context.get_state(ValueStateDescriptor("kept", Types.PRIMITIVE_ARRAY(Types.BYTE())))
        self.file = open(Path(self.directory, str(context.get_index_of_this_subtask())), "ab")  # noqa: SIM115
        self.waited = array("d")

    def process_element(self, value, ctx):
        self.state.update(value[2])
        self.waited.extend((value[1], time.time() - value[1]))
        if len(self.waited) >= 2_000:
            self.close()

    def close(self):
        self.file.write(self.waited.tobytes())
        self.file.flush()
        self.waited = array("d")


def run(directory, options):
    records = int(options.rate * options.seconds)
    configuration = Configuration.from_dict({"execution.mode": options.mode})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(options.parallelism)
    env.enable_checkpointing(options.checkpoint_ms)
    source = DataGeneratorSource(
        lambda number: number, records, RateLimiterStrategy.per_second(options.rate), Types.LONG()
    )
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .map(Due(options.rate / options.parallelism, options.size), output_type=RECORD)
        .key_by(lambda value: value[0], key_type=Types.LONG())
        .process(Keep(directory), output_type=RECORD)
        .print()
    )
    env.execute("large changes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", default="real-time")
    parser.add_argument("--rate", type=float, default=2_000)
    parser.add_argument("--size", type=int, default=10_000, help="of a record, in bytes")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--checkpoint-ms", type=int, default=10_000)
    parser.add_argument("--parallelism", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        run(directory, options)
        pairs = array("d")
        for file in Path(directory).iterdir():
            pairs.frombytes(file.read_bytes())
    dues, waited = pairs[::2], pairs[1::2]
    middle = (min(dues) + max(dues)) / 2
    counted = sorted(ms * 1e3 for due, ms in zip(dues, waited, strict=True) if due >= middle)
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    found = {
        name: counted[min(len(counted) - 1, int(len(counted) * share))] for name, share in shares.items()
    }
    print(json.dumps({"records": len(dues), "size": options.size} | found), flush=True)


if __name__ == "__main__":
    main()
