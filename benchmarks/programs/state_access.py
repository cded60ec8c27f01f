"""What it costs to read and to write the value of a key, by the state backend of a job.

    python state_access.py [--records 100000] [--keys 200000] [--value-bytes 100] [--memory 4mb]

Without Spark: the state of one subtask, in this process, with the settings of each backend. First all keys
get a value. Then records come for keys by chance, in epochs: in some rounds each reads its key, in others
each writes it. What an epoch costs at its beginning and at its end is in the figures, and the quickest round
counts.

``--memory`` is what the backend rocksdb may keep of the state in memory. By default that is less than there
is, as where one chooses that backend, and hashmap keeps everything: the ratios say what capacity costs.

Prints a line of JSON for each backend, with microseconds for each read and each write, and one with the
ratios of rocksdb to hashmap.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.micro_state import VALUE, Bench
from firesteel.common import Configuration
from firesteel.common.options import state as options
from firesteel.state.backends import BACKENDS, state_limits

EPOCH = 20_000  # records


def in_epochs(bench, state, keys, access):
    """Access the value of each of the keys; return the microseconds that each takes."""
    operator = state.operator("op")
    value = operator.get_state(VALUE)
    begun = perf_counter()
    for first in range(0, len(keys), EPOCH):
        state.begin(bench.line, 0)
        for key in keys[first : first + EPOCH]:
            operator.key = key
            access(value)
        bench.commit(state.finish())
    return (perf_counter() - begun) / len(keys) * 1e6


def measure(name, arguments):
    configuration = Configuration()
    configuration.set_string(options.BACKEND.key, name)
    configuration.set_string(options.ROCKSDB_MEMORY.key, arguments.memory)
    chance = random.Random(1)
    content = chance.randbytes(arguments.value_bytes)
    keys = [chance.randrange(arguments.keys) for _ in range(arguments.records)]
    missing = 0

    def get(value):
        nonlocal missing
        missing += value.value() != content

    with tempfile.TemporaryDirectory() as root:
        bench = Bench(f"{root}/state", state_limits(configuration, batch=False), f"{root}/local")
        state = bench.process()
        in_epochs(bench, state, range(arguments.keys), lambda value: value.update(content))
        get_us = min(in_epochs(bench, state, keys, get) for _ in range(arguments.rounds))
        puts = []
        for number in range(arguments.rounds):
            other = content + bytes([number])  # what stays the same need not be written
            puts.append(in_epochs(bench, state, keys, lambda value, other=other: value.update(other)))
    if missing:
        raise SystemExit(f"{name}: {missing} values were not what was written")
    return {"get_us": get_us, "put_us": min(puts)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=100_000, help="of each round")
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--memory", default="4mb", help="of rocksdb")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found = {}
    for name in BACKENDS:
        found[name] = measure(name, arguments)
        print(json.dumps({"records": arguments.records, "backend": name, **found[name]}), flush=True)
    large, quick = found["rocksdb"], found["hashmap"]
    ratios = {f"{kind}_ratio": large[f"{kind}_us"] / quick[f"{kind}_us"] for kind in ("get", "put")}
    print(json.dumps({"records": arguments.records, **ratios}))


if __name__ == "__main__":
    main()
