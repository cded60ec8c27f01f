"""What partial matches cost in memory and in stored state: a million keys with one each, in one process.

First they come, epoch by epoch; then a process that has nothing takes the state over, and each key gets the
event that completes its match. Prints bytes stored for a key beside those of its event alone, and the largest
resident memory of each of the two processes.

    python cep_state.py [--keys 1000000]
"""

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.micro_cep import BATCH, EPOCH, opened
from benchmarks.micro_state import Bench
from firesteel.runtime.batch import Batch
from firesteel.state.columns import encode_elements, to_cached


def payment(key, high):
    return key, 9000 if high else 10, high, f"card {key:012}", "a payment with a short text"


def run(bench, keys, high):
    """Give each key an event; return the number of matches."""
    state = bench.process()
    operator = opened(state)
    found = 0
    for start in range(0, keys, EPOCH):
        state.begin(bench.line, 0)
        operator.begin_epoch()
        for first in range(start, min(start + EPOCH, keys), BATCH):
            numbers = range(first, min(first + BATCH, keys))
            # Within ten minutes of event time, a millisecond for each batch.
            time = first // BATCH + (1 if high else 1 + keys // BATCH)
            values = [payment(key, high) for key in numbers]
            operator.process(Batch(values, [time] * len(values), [(len(values), time)], list(numbers)))
        found += operator.outputs.main.count
        operator.end_epoch()
        bench.commit(state.finish())
    return found


def in_process(line, root, keys, high, answer):
    bench = Bench(root)
    if line is not None:
        bench.line, bench.epoch = line
    found = run(bench, keys, high)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer.send(((bench.line, bench.epoch), found, peak_mb))


def started(line, root, keys, high):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=in_process, args=(line, root, keys, high, theirs))
    process.start()
    theirs.close()
    answer = ours.recv()
    process.join()
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        line, _, peak_mb = started(None, root, options.keys, True)
        state = line[0]
        print(
            json.dumps(
                {
                    "records": options.keys,
                    "event_bytes": len(encode_elements([to_cached(payment(options.keys, True))])),
                    "stored_bytes_per_entry": state.entry_bytes,
                    "entries_per_key": round(state.entries / options.keys, 2),
                    "peak_mb": round(peak_mb),
                }
            )
        )
        _, found, peak_mb = started(line, root, options.keys, False)
        print(json.dumps({"records": options.keys, "matches": found, "peak_mb": round(peak_mb)}))


if __name__ == "__main__":
    main()
