"""The keyed count of ``keyed_count.py`` on Bytewax: ``stateful_map``, one state access for each record.

    python -m bytewax.testing -p 2 "bytewax_keyed_count:flow(100000, 1000)"

The process that starts the others writes how long the dataflow took, as a line of JSON, where
``main`` runs it. The source has two partitions whatever the number of processes.
"""

import argparse
import json
import subprocess
import sys
import time

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

PARTITIONS = 2
BATCH = 1_000


class Numbers(StatefulSourcePartition):
    def __init__(self, start, end):
        self.at = start
        self.end = end

    def next_batch(self):
        if self.at >= self.end:
            raise StopIteration()
        start = self.at
        self.at = min(start + BATCH, self.end)
        return list(range(start, self.at))

    def snapshot(self):
        return None


class NumberSource(FixedPartitionedSource):
    def __init__(self, records):
        self.records = records

    def list_parts(self):
        return [str(part) for part in range(PARTITIONS)]

    def build_part(self, step_id, for_part, resume_state):
        part = int(for_part)
        return Numbers(part * self.records // PARTITIONS, (part + 1) * self.records // PARTITIONS)


class Discard(DynamicSink, StatelessSinkPartition):
    def build(self, step_id, worker_index, worker_count):
        return self

    def write_batch(self, items):
        pass


def flow(records, keys):
    def count(state, value):
        state = (state or 0) + value[2]
        return state, (value[0], value[1], state)

    dataflow = Dataflow("keyed_count")
    numbers = op.input("numbers", dataflow, NumberSource(records))
    # Bytewax wants str keys: the key is made once, as (key, value), where key_on would do it in a second step
    keyed = op.map("tuples", numbers, lambda i: (str(i % keys), (i % keys, i, 1)))
    op.output("discard", op.stateful_map("count", keyed, count), Discard())
    return dataflow


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    for records in options.records:
        target = f"bytewax_keyed_count:flow({records}, {options.keys})"
        command = [sys.executable, "-m", "bytewax.testing", "-p", str(options.processes), target]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - started
        print(json.dumps({"records": records, "keys": options.keys, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
